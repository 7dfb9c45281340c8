import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Module } from '@nestjs/common';
import { GraphQLModule } from '@nestjs/graphql';
import { DistributedLockModule } from 'nestjs-distributed-lock';
import { SeatsResolver } from './seats.resolver.js';

@Module({
  imports: [
    DistributedLockModule.forRoot({ redis: process.env.REDIS_URL ?? 'redis://localhost:6379' }),
    GraphQLModule.forRoot<ApolloDriverConfig>({
      driver: ApolloDriver,
      autoSchemaFile: true,
      includeStacktraceInErrorResponses: false,
    }),
  ],
  providers: [SeatsResolver],
})
export class AppModule {}
