import type { INestApplication } from '@nestjs/common';
import { LockService } from 'nestjs-distributed-lock';

/** Status of a request to a locked handler while its lock is free, and while somebody else has it. */
export async function requestTwice(app: INestApplication): Promise<{ free: number; held: number }> {
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as { port: number };
  const url = `http://127.0.0.1:${port}/stock/book`;
  const free = await fetch(url);
  await free.text();
  const lock = await app.get(LockService).acquire('page:book');
  const held = await fetch(url);
  await held.text();
  await lock.release();
  return { free: free.status, held: held.status };
}
