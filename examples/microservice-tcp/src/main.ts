import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { ShopModule } from './shop.module.js';
import { StockModule } from './stock.module.js';

// Two applications in one process, so that one command starts both. They only know each other's port.
const port = Number(process.env.STOCK_PORT ?? 4000);
const stock = await NestFactory.createMicroservice<MicroserviceOptions>(StockModule, {
  transport: Transport.TCP,
  options: { port },
});
stock.enableShutdownHooks();
await stock.listen();

const shop = await NestFactory.create(ShopModule.forStockAt(port));
shop.enableShutdownHooks();
await shop.listen(process.env.PORT ?? 3000);
console.log(`microservice-tcp is ready on ${await shop.getUrl()}`);
