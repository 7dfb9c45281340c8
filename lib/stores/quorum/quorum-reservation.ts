import type { ReserveReply, ReserveRequest } from '../port/lock-store.js';
import { asked } from '../port/store-failure.js';
import { decided, majorityOf } from './majority.js';
import type { QuorumAcquire } from './quorum-acquire.js';
import type { QuorumContext } from './quorum-context.js';

/** Reserves tokens at all members: larger than all that the hold has used, whatever a member's clock says. */
export async function reserveByMajority(
  { sessions, client }: Pick<QuorumContext, 'sessions' | 'client'>,
  acquire: QuorumAcquire | undefined,
  request: ReserveRequest,
): Promise<ReserveReply> {
  const { owner, lease, tokens } = request;
  const needed = acquire?.needed ?? majorityOf(sessions.length);
  const startedAt = client.now();
  const requests = sessions.flatMap((session, index) => {
    const member = acquire?.members[index];
    if (acquire !== undefined && member?.mayHold !== true) return [];
    const name = member?.owner ?? owner;
    return [
      asked(async (): Promise<ReserveReply> => {
        const reply = (await session.reserve?.({ ...request, owner: name })) ?? { outcome: 'gone' };
        if (member?.owner !== name) return reply;
        if (reply.outcome !== 'reserved') member.onLost();
        else {
          if (lease > 0) member.onRenewed(startedAt, { lease }, acquire?.hold);
          member.onReserved(reply.token + tokens - 1);
        }
        return reply;
      }),
    ];
  });
  const absent = sessions.length - requests.length;
  const granted = await decided(
    requests,
    ({ replies }) => {
      const reserved = replies.flatMap((reply) => (reply.outcome === 'reserved' ? [reply] : []));
      if (reserved.length >= needed) return reserved;
      const lost = absent + replies.length - reserved.length;
      if (lost <= sessions.length - needed) return undefined;
      return replies.some(({ outcome }) => outcome === 'taken') ? ('taken' as const) : ('gone' as const);
    },
    sessions.length,
  );
  if (typeof granted === 'string') {
    acquire?.abandon();
    return { outcome: granted };
  }
  const hold = acquire?.hold;
  const token = Math.max(...granted.map((reply) => reply.token), (hold?.floor ?? 0) + 1);
  if (acquire !== undefined && hold !== undefined) {
    acquire.hold = { ...hold, floor: token + tokens - 1 };
    for (const member of acquire.members) acquire.announceHold(member);
  }
  return { outcome: 'reserved', token, othersWait: granted.some(({ othersWait }) => othersWait) };
}
