import type { INestApplication } from '@nestjs/common';
import { LockService } from 'nestjs-distributed-lock';

interface Answers {
  readonly free: number;
  readonly held: number;
  /** Status of the lock dashboard. */
  readonly page: number;
  /** The held keys that the dashboard shows. */
  readonly shown: readonly string[];
}

/** Requests a locked handler while its lock is free and while it is held, and the dashboard in the second case. */
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
    // The snapshot of an earlier application may not have expired yet.
    shown: processes
      .filter(({ pid }) => pid === process.pid)
      .flatMap((each) => each.held.map(({ key }) => key)),
  };
}
