import type { INestApplication } from '@nestjs/common';
import { LockService } from 'nestjs-distributed-lock';

interface Answers {
  readonly free: number;
  readonly held: number;
  /** Of the page of locks. */
  readonly page: number;
  /** The keys that it shows as held. */
  readonly shown: readonly string[];
}

/** Status of a request to a locked handler while its lock is free, and while somebody else has it, as the page then shows. */
export async function requestTwice(app: INestApplication): Promise<Answers> {
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as { port: number };
  const origin = `http://127.0.0.1:${port}`;
  const url = `${origin}/stock/book`;
  const free = await fetch(url);
  await free.text();
  const lock = await app.get(LockService).acquire('page:book');
  const held = await fetch(url);
  await held.text();
  const page = await fetch(`${origin}/locks`);
  await page.text();
  const overview = await fetch(`${origin}/locks?data=overview`);
  const { processes } = (await overview.json()) as { processes: { pid: number; held: { key: string }[] }[] };
  await lock.release();
  return {
    free: free.status,
    held: held.status,
    page: page.status,
    // What an application before this one has told of itself may still be there.
    shown: processes
      .filter(({ pid }) => pid === process.pid)
      .flatMap((each) => each.held.map(({ key }) => key)),
  };
}
