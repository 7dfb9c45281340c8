import { Body, Controller, Module, Param, Post, Put } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DistributedLockModule } from 'nestjs-distributed-lock';
import { postgresStore } from 'nestjs-distributed-lock/postgres';
import { DataSource } from 'typeorm';
import { Account, Withdrawal } from './account.entity.js';
import { AccountsService } from './accounts.service.js';

const databaseUrl = process.env.DATABASE_URL ?? 'postgres://postgres@localhost:5432/postgres';

@Controller('accounts')
class AccountsController {
  constructor(
    private readonly accounts: AccountsService,
    private readonly dataSource: DataSource,
  ) {}

  @Put(':id')
  async open(@Param('id') id: string, @Body() { balance }: { balance: number }): Promise<void> {
    await this.dataSource.manager.insert(Account, { id, balance });
  }

  @Post(':id/withdrawals')
  withdraw(@Param('id') id: string, @Body() { amount }: { amount: number }) {
    return this.accounts.withdraw(id, amount);
  }
}

@Module({
  imports: [
    // The locks are in the database of the application, on their own connection. You need no other server.
    DistributedLockModule.forRoot({
      store: postgresStore({ connection: databaseUrl, createSchema: true }),
      watchdogTimeout: 3_000,
    }),
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: databaseUrl,
      entities: [Account, Withdrawal],
      // Creates the tables, which suits an example. Use migrations in an application.
      synchronize: true,
    }),
  ],
  controllers: [AccountsController],
  providers: [AccountsService],
})
export class AppModule {}
