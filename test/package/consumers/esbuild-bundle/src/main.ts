import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { exercise } from './exercise.js';
import { ShopModule } from './shop.js';

const app = await NestFactory.createApplicationContext(ShopModule.with(process.env['REDIS_URL'] ?? ''), {
  logger: ['error'],
});
const result = await exercise(app);
await app.close();
console.log(JSON.stringify(result));
