import { setTimeout as delay } from 'node:timers/promises';
import {
  ConflictException,
  Injectable,
  NotFoundException,
  ServiceUnavailableException,
} from '@nestjs/common';
import { LockService } from 'nestjs-distributed-lock';
import { DataSource, LessThanOrEqual, type EntityManager } from 'typeorm';
import { Account, Withdrawal } from './account.entity.js';

@Injectable()
export class AccountsService {
  constructor(
    private readonly locks: LockService,
    private readonly dataSource: DataSource,
  ) {}

  /** The lock is outside, the transaction inside: the next holder reads committed data. */
  async withdraw(id: string, amount: number): Promise<{ balance: number }> {
    return await this.locks.withLock(`account:${id}`, async (lock) => {
      const { balance } = await this.read(id, lock.token);
      if (balance < amount) throw new ConflictException('Not enough money on this account');
      // Do slow work under the lock, but outside of the transaction.
      await checkForFraud(id, amount);
      await this.dataSource.transaction(async (transaction) => {
        await this.update(transaction, id, lock.token, { balance: balance - amount });
        await transaction.insert(Withdrawal, { account: id, amount });
      });
      return { balance: balance - amount };
    });
  }

  /** Stores the token in the row when it reads. After that, a holder with a smaller token can't write. */
  private async read(id: string, token: number): Promise<Account> {
    const manager = this.dataSource.manager;
    if (!(await manager.existsBy(Account, { id }))) throw new NotFoundException();
    await this.update(manager, id, token, {});
    return await manager.findOneByOrFail(Account, { id });
  }

  /** Changes the account unless a newer holder has worked on it. */
  private async update(
    manager: EntityManager,
    id: string,
    token: number,
    changes: Pick<Partial<Account>, 'balance'>,
  ): Promise<void> {
    const lockToken = String(token);
    const { affected } = await manager.update(
      Account,
      { id, lockToken: LessThanOrEqual(lockToken) },
      { ...changes, lockToken },
    );
    if (affected === 0) throw new ServiceUnavailableException('A newer request works on this account');
  }
}

async function checkForFraud(_account: string, _amount: number): Promise<void> {
  await delay(Number(process.env.FRAUD_CHECK_MS ?? 50));
}
