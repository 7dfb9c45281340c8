import { Controller, Get, Module } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { describe, expect, it } from '@jest/globals';
import { LockDashboardModule } from '../../../lib/dashboard/index.js';
import { DistributedLockModule } from '../../../lib/index.js';
import { HttpApps } from '../nest/http-app.js';

@Controller('orders')
class Orders {
  @Get()
  list(): string {
    return 'none';
  }
}

@Module({})
class Nothing {}

describe('the OpenAPI document of an application with the dashboard', () => {
  const apps = new HttpApps();

  it.each([
    [
      'forRoot',
      LockDashboardModule.forRoot({
        path: 'ops/locks',
        access: 'open',
        allowBreak: true,
        hosts: ['127.0.0.1'],
      }),
    ],
    [
      'forRootAsync',
      LockDashboardModule.forRootAsync({
        imports: [Nothing],
        useFactory: () => ({ path: 'ops/locks', access: 'open', allowBreak: true, hosts: ['127.0.0.1'] }),
      }),
    ],
  ])('leaves the dashboard out (%s)', async (_, dashboard) => {
    const app = await apps.start({
      imports: [DistributedLockModule.forRoot({ store: 'memory' }), dashboard],
      controllers: [Orders],
    });
    expect((await app.get('/ops/locks')).status).toBe(200);
    const document = SwaggerModule.createDocument(app.nest, new DocumentBuilder().build());
    expect(Object.keys(document.paths)).toEqual(['/orders']);
  });
});
