import { Injectable } from '@nestjs/common';
import { LockedByTenant } from './locked-by-tenant.decorator.js';
import { LockedCron } from './locked-cron.decorator.js';

@Injectable()
export class ReportsService {
  cleanUps = 0;

  @LockedByTenant((report: string) => `report:${report}`)
  async build(report: string): Promise<{ report: string }> {
    return { report };
  }

  @LockedCron('* * * * * *', 'clean-up')
  async cleanUp(): Promise<void> {
    this.cleanUps++;
  }
}
