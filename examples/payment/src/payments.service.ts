import {
  BadGatewayException,
  Injectable,
  UnprocessableEntityException,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { Locked } from 'nestjs-distributed-lock';
import pg from 'pg';

export interface Order {
  readonly account: string;
  readonly amount: number;
}

export interface Payment {
  readonly charge: string;
}

@Injectable()
export class PaymentsService implements OnModuleInit, OnApplicationShutdown {
  private readonly db = new pg.Pool({
    connectionString: process.env.DATABASE_URL ?? 'postgres://postgres@localhost:5432/postgres',
  });

  // PostgreSQL fails if two processes create the table at the same moment.
  @Locked('payments:table')
  async onModuleInit(): Promise<void> {
    await this.db.query(
      'CREATE TABLE IF NOT EXISTS payments (key text PRIMARY KEY, request jsonb NOT NULL, charge text)',
    );
  }

  async onApplicationShutdown(): Promise<void> {
    await this.db.end();
  }

  /** Of two requests with the same key, the second waits for the first and returns the same result. */
  @Locked({ key: (key: string) => `payment:${key}` })
  async pay(key: string, order: Order): Promise<Payment> {
    const { account, amount } = order;
    // Insert the row before the charge. After a crash in between, a payment without a charge shows what happened.
    await this.db.query('INSERT INTO payments (key, request) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      key,
      { account, amount },
    ]);
    const { rows } = await this.db.query<{ same: boolean; charge: string | null }>(
      'SELECT request = $2 AS same, charge FROM payments WHERE key = $1',
      [key, { account, amount }],
    );
    const [payment] = rows;
    if (!payment?.same) throw new UnprocessableEntityException('This key belongs to another payment');
    if (payment.charge !== null) return { charge: payment.charge };
    // After a crash this may be the second call. The provider knows the key and does not charge twice.
    const charge = await chargeAccount(key, { account, amount });
    await this.db.query('UPDATE payments SET charge = $2 WHERE key = $1', [key, charge]);
    return { charge };
  }
}

async function chargeAccount(key: string, order: Order): Promise<string> {
  const response = await fetch(process.env.PROVIDER_URL ?? 'http://localhost:3000/charges', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(order),
    signal: AbortSignal.timeout(30_000),
  });
  if (!response.ok) throw new BadGatewayException('The payment provider did not accept the charge');
  const { id } = (await response.json()) as { id: string };
  return id;
}
