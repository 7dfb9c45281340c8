/** What the generated parts of the performance page say. `ahead`: of a load in which others have more holds per second. */
export const ENGLISH = {
  short: (empty, work) =>
    `With 4 processes × 25 callers on one key, this library has ${empty} times the holds per second of the ` +
    `nearest other library while the work under the lock is empty, and ${work} times with 2 ms of work.`,
  loads: {
    free: 'free locks, one caller',
    freeAwaited: 'free locks, one caller, release awaited',
    far: 'free locks, one caller, Redis 1 ms away',
    farAwaited: 'free locks, one caller, Redis 1 ms away, release awaited',
    callers: 'free locks, 200 callers',
    key: 'one key, 100 callers of one process',
    processes: 'one key, 4 processes × 25 callers',
    work: 'one key, 4 processes × 25 callers, 2 ms of work',
    readers: '100 readers of one process',
    semaphore: 'a semaphore of 10, 100 callers of one process',
    semaphores: 'a semaphore of 10, 4 processes × 25 callers',
  },
  turns: ['holds/s', 'turns of the least- and most-served caller', 'Redis commands per hold'],
  shared: ['empty', '2 ms of work'],
  nobodyAhead: 'No other library had more holds per second in any row.',
  ahead: ({ load, other, by, more, turns }) =>
    `- ${load}: ${other} ${by}` +
    `${more === 0 ? '' : ` and ${more} more ${more === 1 ? 'setting' : 'settings'}`}` +
    `${turns === undefined ? '' : `; turns ${turns.join(' against ')}`}.`,
};

/** @type {typeof ENGLISH} */
export const CHINESE = {
  short: (empty, work) =>
    `4 个进程 × 25 个调用者争抢同一个 key：临界区为空时，本库每秒的加锁次数是最快的同类库的 ${empty} 倍；` +
    `临界区耗时 2 毫秒时是 ${work} 倍。`,
  loads: {
    free: '空闲的锁，1 个调用者',
    freeAwaited: '空闲的锁，1 个调用者，等待释放的响应',
    far: '空闲的锁，1 个调用者，Redis 单程延迟 1 ms',
    farAwaited: '空闲的锁，1 个调用者，Redis 单程延迟 1 ms，等待释放的响应',
    callers: '空闲的锁，200 个调用者',
    key: '同一个 key，1 个进程的 100 个调用者',
    processes: '同一个 key，4 个进程 × 25 个调用者',
    work: '同一个 key，4 个进程 × 25 个调用者，临界区 2 ms',
    readers: '1 个进程的 100 个读者',
    semaphore: '10 个许可的信号量，1 个进程的 100 个调用者',
    semaphores: '10 个许可的信号量，4 个进程 × 25 个调用者',
  },
  turns: ['每秒加锁次数', '每个调用者获得锁的次数（最少–最多）', '每次加锁的 Redis 命令数'],
  shared: ['临界区为空', '临界区 2 ms'],
  nobodyAhead: '在所有测试中，没有其他库每秒的加锁次数更多。',
  ahead: ({ load, other, by, more, turns }) =>
    `- ${load}：${other} ${by}` +
    `${more === 0 ? '' : `，另有 ${more} 种设置也更快`}` +
    `${turns === undefined ? '' : `；次数 ${turns.join('，本库 ')}`}。`,
};
