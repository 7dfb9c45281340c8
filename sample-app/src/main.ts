import 'reflect-metadata';

import { NestFactory } from '@nestjs/core';

import { AppModule } from './app.module.js';
import { Settings } from './settings/settings.js';

const app = await NestFactory.create(AppModule);
// On SIGTERM, orders that hold a lock end before the process does.
app.enableShutdownHooks();

const { port, host } = app.get(Settings);
await app.listen(port, host);
console.log(`sample-app is ready on ${await app.getUrl()}`);
