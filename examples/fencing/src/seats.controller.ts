import { setTimeout } from 'node:timers/promises';
import { Body, ConflictException, Controller, Param, Post } from '@nestjs/common';
import { currentLock, Locked } from 'nestjs-distributed-lock';
import { SeatsTable } from './seats.table.js';

interface Booking {
  readonly guest: string;
  /** How long the work pauses, in ms. If that is longer than the lease, the lock is lost. */
  readonly pause?: number;
}

@Controller('seats')
export class SeatsController {
  constructor(private readonly seats: SeatsTable) {}

  @Post(':id')
  @Locked({ key: (id: string) => `seat:${id}`, leaseTime: 1_000 })
  async book(@Param('id') id: string, @Body() { guest, pause = 0 }: Booking): Promise<{ guest: string }> {
    const { token } = currentLock();
    const booked = this.seats.read(id, token);
    if (booked !== null) throw new ConflictException(`${booked} has booked seat ${id}.`);
    await setTimeout(pause);
    this.seats.write(id, guest, token);
    return { guest };
  }
}
