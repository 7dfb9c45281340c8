import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, Headers, Post } from '@nestjs/common';

/** Simulates a payment provider: it charges only once for each `Idempotency-Key`. */
@Controller('charges')
export class ProviderController {
  private readonly charges = new Map<string, { readonly id: string; calls: number }>();

  @Post()
  async charge(@Headers('idempotency-key') key: string): Promise<{ id: string }> {
    const charge = this.charges.get(key) ?? { id: randomUUID(), calls: 0 };
    charge.calls++;
    this.charges.set(key, charge);
    // The money has moved, and the client has no answer yet.
    await delay(Number(process.env.PROVIDER_MS ?? 500));
    return { id: charge.id };
  }

  @Get()
  list() {
    return [...this.charges.values()];
  }
}
