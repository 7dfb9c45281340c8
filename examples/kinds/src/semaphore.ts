import { setTimeout } from 'node:timers/promises';
import { Controller, Param, Post } from '@nestjs/common';
import { Locked } from 'nestjs-distributed-lock';

@Controller('labels')
export class LabelsController {
  /** At most three requests print at the same time, in all processes together. */
  @Post(':order')
  @Locked({ key: 'label-printer', limit: 3, waitTime: 20_000 })
  async print(@Param('order') order: string): Promise<{ printed: string }> {
    await setTimeout(100);
    return { printed: order };
  }

  /** A batch needs two of the three permits, so one single label can print beside it. */
  @Post(':order/batches')
  @Locked({ key: 'label-printer', limit: 3, permits: 2, waitTime: 20_000 })
  async printBatch(@Param('order') order: string): Promise<{ printed: string }> {
    await setTimeout(200);
    return { printed: order };
  }
}
