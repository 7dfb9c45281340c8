import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { AppModule } from './app.module.js';

const app = await NestFactory.create(AppModule);
// A hybrid application: it also answers messages, with the same filters.
app.connectMicroservice<MicroserviceOptions>(
  { transport: Transport.TCP, options: { port: Number(process.env.BOOKINGS_PORT ?? 4001) } },
  { inheritAppConfig: true },
);
app.enableShutdownHooks();
await app.startAllMicroservices();
await app.listen(process.env.PORT ?? 3000);
console.log(`busy-409 is ready on ${await app.getUrl()}`);
