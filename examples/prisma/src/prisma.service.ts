import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '../generated/client.js';

@Injectable()
export class PrismaService extends PrismaClient implements OnApplicationShutdown {
  constructor() {
    const connectionString = process.env.DATABASE_URL ?? 'postgres://postgres@localhost:5432/postgres';
    super({ adapter: new PrismaPg({ connectionString }) });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.$disconnect();
  }
}
