import { Controller, Param, Post, Sse, type MessageEvent } from '@nestjs/common';
import { Locked } from 'nestjs-distributed-lock';
import { interval, map, take, type Observable } from 'rxjs';

@Controller('exports')
export class ExportsController {
  /** Only one request at a time starts this export. */
  @Post(':id')
  @Locked({ key: (id: string) => `export:${id}`, waitTime: 500, label: (id: string) => `export of ${id}` })
  async start(@Param('id') id: string): Promise<{ started: string }> {
    return { started: id };
  }

  /** The lock is held until the last event was sent, or the client has disconnected. */
  @Sse(':id/progress')
  @Locked({ key: (id: string) => `export:${id}`, waitTime: 500 })
  progress(@Param('id') id: string): Observable<MessageEvent> {
    return interval(500).pipe(
      take(3),
      map((step) => ({ data: { export: id, step } })),
    );
  }
}
