import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { AppModule } from './app.module.js';

const app = await NestFactory.create(AppModule);
// A hybrid application: with BOOKINGS_PORT it also answers messages over TCP, with the same filters.
if (process.env.BOOKINGS_PORT) {
  app.connectMicroservice<MicroserviceOptions>(
    { transport: Transport.TCP, options: { port: Number(process.env.BOOKINGS_PORT) } },
    { inheritAppConfig: true },
  );
}
app.enableShutdownHooks();
await app.startAllMicroservices();
await app.listen(process.env.PORT ?? 3000);
console.log(`busy-409 is ready on ${await app.getUrl()}`);
