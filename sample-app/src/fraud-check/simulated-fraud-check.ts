import { setTimeout as latency } from 'node:timers/promises';

import { Injectable } from '@nestjs/common';

import { Settings } from '../settings/settings.js';

/** Simulates the remote call of a real order: it takes a few milliseconds, in which the process serves other orders. */
@Injectable()
export class SimulatedFraudCheck {
  constructor(private readonly settings: Settings) {}

  async approve(): Promise<void> {
    await latency(this.settings.fraudCheckLatency);
  }
}
