import { Controller, Get, Headers, Param, Post } from '@nestjs/common';
import { Locked } from 'nestjs-distributed-lock';
import { ReportsService } from './reports.service.js';

@Controller('reports')
export class ReportsController {
  constructor(private readonly reports: ReportsService) {}

  @Post(':report')
  build(@Param('report') report: string): Promise<{ report: string }> {
    return this.reports.build(report);
  }

  /** A handler needs no context: the key function has its parameters, which may be any part of the request. */
  @Post(':report/approvals')
  @Locked({ key: (report: string, user: string) => `approval:${user}:${report}`, waitTime: 500 })
  async approve(
    @Param('report') report: string,
    @Headers('x-user') user: string,
  ): Promise<{ approved: string }> {
    return { approved: `${report} by ${user}` };
  }

  @Get('clean-ups')
  cleanUps(): { cleanUps: number } {
    return { cleanUps: this.reports.cleanUps };
  }
}
