import { setTimeout as latency } from 'node:timers/promises';

import { Injectable } from '@nestjs/common';

import { Settings } from '../settings/settings.js';

/**
 * Stands for the call to another service that a real order makes. All that matters here: it takes a few milliseconds, and the
 * process serves other orders meanwhile.
 */
@Injectable()
export class SimulatedFraudCheck {
  constructor(private readonly settings: Settings) {}

  async approve(): Promise<void> {
    await latency(this.settings.fraudCheckLatency);
  }
}
