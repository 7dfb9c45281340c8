import { it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { DistributedLockModule, LockService } from 'nestjs-distributed-lock';
import request from 'supertest';
import { AppModule, locksModule } from './app.module.js';

it('answers 423 while the payment is locked', async () => {
  const testing = await Test.createTestingModule({ imports: [AppModule] })
    .overrideModule(locksModule)
    .useModule(DistributedLockModule.forRoot({ store: 'memory' }))
    .compile();
  const app = testing.createNestApplication();
  await app.init();

  const other = await app.get(LockService).acquire('payment:7');
  await request(app.getHttpServer()).post('/payments/7').expect(423);
  await other.release();
  await request(app.getHttpServer()).post('/payments/7').expect(201, 'confirmed 7');
  await app.close();
});
