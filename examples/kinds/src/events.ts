import { Controller, Get, type OnModuleInit } from '@nestjs/common';
import { LockService } from 'nestjs-distributed-lock';

@Controller('lock-metrics')
export class LockMetricsController implements OnModuleInit {
  private readonly metrics = { granted: 0, longestWait: 0, longestHold: 0, lost: 0 };

  constructor(private readonly locks: LockService) {}

  onModuleInit(): void {
    this.locks.events.subscribe((event) => {
      if (event.type === 'granted') {
        this.metrics.granted++;
        this.metrics.longestWait = Math.max(this.metrics.longestWait, event.waitedFor);
      }
      if (event.type === 'released') {
        this.metrics.longestHold = Math.max(this.metrics.longestHold, event.heldFor);
      }
      if (event.type === 'lost') this.metrics.lost++;
    });
  }

  @Get()
  show(): typeof this.metrics {
    return this.metrics;
  }
}
