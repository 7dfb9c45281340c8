/** Module options that must not compile: `npm run typecheck`, and locked-types.test.ts for the messages. Never run. */
import { LockDashboardModule } from '../../../../lib/dashboard/index.js';
import { LockHealthModule } from '../../../../lib/health/index.js';
import { DistributedLockModule } from '../../../../lib/index.js';
import { LeaderElectionModule } from '../../../../lib/leader/index.js';

declare const fromEnvironment: string | undefined;

// @ts-expect-error the variable may not be set
DistributedLockModule.forRoot({ redis: fromEnvironment });

// @ts-expect-error the same beside other options
DistributedLockModule.forRoot({ redis: fromEnvironment, name: 'billing', waitTime: 3_000 });

// @ts-expect-error the same from a factory
DistributedLockModule.forRootAsync({ useFactory: () => ({ redis: fromEnvironment }) });

// @ts-expect-error name beside useFactory
DistributedLockModule.forRootAsync({ useFactory: () => ({ redis: 'redis://localhost', name: 'x' }) });

// @ts-expect-error isGlobal beside useFactory
DistributedLockModule.forRootAsync({ useFactory: async () => ({ store: 'memory', isGlobal: false }) });

// @ts-expect-error instance of the health indicator beside useFactory
LockHealthModule.forRootAsync({ useFactory: () => ({ unreachableFor: 5_000, instance: 'x' }) });

// @ts-expect-error instance of the election beside useFactory
LeaderElectionModule.forFeatureAsync('reports', { useFactory: () => ({ label: 'x', instance: 'x' }) });

// @ts-expect-error imports of the lock dashboard beside useFactory
LockDashboardModule.forRootAsync({ useFactory: () => ({ access: 'open', imports: [] }) });

// @ts-expect-error the same for one of several servers
DistributedLockModule.forRoot({ quorum: ['redis://a', fromEnvironment] });

// @ts-expect-error only one of them
DistributedLockModule.forRoot({ redis: 'redis://localhost', store: 'memory' });

// @ts-expect-error only one of them
DistributedLockModule.forRoot({ redis: 'redis://localhost', quorum: ['redis://a'] });

// @ts-expect-error only one of them
DistributedLockModule.forRoot({ quorum: ['redis://a'], store: 'memory' });

// @ts-expect-error one of them
DistributedLockModule.forRoot({});

// @ts-expect-error no such option
DistributedLockModule.forRoot({ redis: 'redis://localhost', ttl: 5 });

// @ts-expect-error names of other clients, which ioredis would ignore
DistributedLockModule.forRoot({ redis: { hostname: 'redis', port: 6379 } });

// @ts-expect-error the same from a factory
DistributedLockModule.forRootAsync({ useFactory: () => ({ redis: { socket: { host: 'redis' }, db: 1 } }) });

// @ts-expect-error a semaphore is no option of the module
DistributedLockModule.forRoot({ store: 'memory', limit: 5 });

// @ts-expect-error how many may wait is a number
DistributedLockModule.forRoot({ store: 'memory', maxWaiting: '20' });
