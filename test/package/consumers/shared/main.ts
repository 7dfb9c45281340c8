import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { exercise } from './exercise.js';
import { requestTwice } from './http.js';
import { ShopModule } from './shop.js';

async function main(): Promise<void> {
  const app = await NestFactory.create(ShopModule.with(process.env['REDIS_URL'] ?? ''), {
    logger: ['error'],
  });
  const result = { ...(await exercise(await app.init())), ...(await requestTwice(app)) };
  await app.close();
  console.log(JSON.stringify(result));
}

void main();
