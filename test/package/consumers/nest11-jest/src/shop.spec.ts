import 'reflect-metadata';
import { Test } from '@nestjs/testing';
import { exercise } from './exercise.js';
import { ShopModule } from './shop.js';

it('locks', async () => {
  const testing = await Test.createTestingModule({
    imports: [ShopModule.with(process.env['REDIS_URL'] ?? '')],
  }).compile();
  const app = await testing.init();
  const result = await exercise(app);
  await app.close();
  expect(result).toEqual({
    decorated: 10,
    injected: 10,
    returned: 'took book',
    tokensGrow: true,
    busy: 'LOCK_TIMEOUT',
    left: false,
  });
});
