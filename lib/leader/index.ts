/** Leader election on any store: `nestjs-distributed-lock/leader`. */
export {
  LeaderElectionModule,
  type LeaderElectionAsyncOptions,
  type LeaderElectionOptions,
} from './leader-election.module.js';
export {
  LeaderElection,
  type ElectedEvent,
  type Leadership,
  type LeadershipEvent,
  type RevocationReason,
  type RevokedEvent,
} from './leader-election.js';
export { InjectLeaderElection, OnElected, OnRevoked, getLeaderElectionToken } from './leader.decorators.js';
