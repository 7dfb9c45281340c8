const ELECTION = 'leader/leader-election.js';

const WITHOUT_CLOCK = [ELECTION, ' && this.handle.isHeld', ''];

/** Bugs of leader election that are independent of the store. */
export const leaderPlants = {
  'deadline-ignored': {
    about: 'the leader does not look at the clock: it leads until a timer says otherwise',
    finds: ['overlap'],
    changes: [WITHOUT_CLOCK],
    run: { only: ['process stopped'] },
  },
  'loss-ignored': {
    about: 'the leader leads on when its lock is lost',
    finds: ['overlap'],
    changes: [WITHOUT_CLOCK, [ELECTION, "signal.addEventListener('abort', lost", '[lost].includes(this']],
    run: { only: ['process stopped', 'requests held'] },
  },
  'lock-kept': {
    about: 'a leader that resigns or shuts down leaves its lock to expire',
    finds: ['late-hand-over'],
    changes: [[ELECTION, 'await this.handle.release()', "'released'"]],
    run: { only: ['leader resigned'] },
  },
  'work-left-alone': {
    about: 'the lock of a leader is released before its work has ended',
    finds: ['work-overlap'],
    changes: [[ELECTION, 'await this.endInTime(ended, term, reason);', '']],
    run: { only: ['leader resigned'] },
  },
};
