import { Controller, Param, Post } from '@nestjs/common';
import { Locked } from 'nestjs-distributed-lock';

@Controller('tickets')
export class TicketsController {
  private sold = 0;

  /** Requests are served in the order of their arrival, also across processes. */
  @Post(':concert')
  @Locked({ key: (concert: string) => `tickets:${concert}`, fair: true, waitTime: 10_000 })
  async buy(@Param('concert') concert: string): Promise<{ ticket: string }> {
    return { ticket: `${concert} ${++this.sold}` };
  }
}
