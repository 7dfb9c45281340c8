import 'reflect-metadata';
import {
  Controller,
  Get,
  Header,
  HttpCode,
  Injectable,
  Param,
  ParseIntPipe,
  Post,
  SetMetadata,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import { map, type Observable } from 'rxjs';
import { DistributedLockModule, Locked, LockService } from '../../../lib/index.js';
import { HttpApps, type HttpApp } from './http-app.js';

@Injectable()
class Deny implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

@Injectable()
class NeedsRole implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    return this.reflector.get<string | undefined>('role', context.getHandler()) === 'clerk';
  }
}

@Injectable()
class Wrap implements NestInterceptor {
  constructor(private readonly locks: LockService) {}

  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next
      .handle()
      .pipe(map((value: unknown) => ({ value, held: this.locks.current()?.isHeld === true })));
  }
}

@Injectable()
class Shout implements PipeTransform {
  transform(value: unknown): string {
    return String(value).toUpperCase();
  }
}

@Controller('below')
class Below {
  @Get('denied')
  @Locked('k')
  @UseGuards(Deny)
  async denied(): Promise<string> {
    return Promise.resolve('served');
  }

  @Locked({ key: (id: number, name: string) => `${id.toFixed(1)}:${name}` })
  @Post('all/:id/:name')
  @HttpCode(202)
  @Header('x-made-by', 'hand')
  @SetMetadata('role', 'clerk')
  @UseGuards(NeedsRole)
  @UseInterceptors(Wrap)
  @UsePipes(Shout)
  async all(@Param('id', ParseIntPipe) id: number, @Param('name') name: string): Promise<string> {
    return Promise.resolve(`${typeof id} ${name}`);
  }
}

@Controller('above')
class Above {
  @Get('denied')
  @UseGuards(Deny)
  @Locked('k')
  async denied(): Promise<string> {
    return Promise.resolve('served');
  }

  @Post('all/:id/:name')
  @HttpCode(202)
  @Header('x-made-by', 'hand')
  @SetMetadata('role', 'clerk')
  @UseGuards(NeedsRole)
  @UseInterceptors(Wrap)
  @UsePipes(Shout)
  @Locked({ key: (id: number, name: string) => `${id.toFixed(1)}:${name}` })
  async all(@Param('id', ParseIntPipe) id: number, @Param('name') name: string): Promise<string> {
    return Promise.resolve(`${typeof id} ${name}`);
  }
}

describe('decorators around @Locked', () => {
  const apps = new HttpApps();
  afterEach(() => apps.close());

  const start = (): Promise<HttpApp> =>
    apps.start({
      imports: [DistributedLockModule.forRoot({ store: 'memory' })],
      controllers: [Below, Above],
    });

  it.each(['below', 'above'])('B32: a guard %s @Locked guards', async (where) => {
    const app = await start();
    expect((await app.get(`/${where}/denied`)).status).toBe(403);
  });

  it.each(['below', 'above'])(
    'B32: route, status, header, metadata, guard, interceptor and pipes %s @Locked work',
    async (where) => {
      const app = await start();
      const keys: string[] = [];
      app.locks.events.subscribe((event) => event.type === 'granted' && keys.push(event.key));
      const answer = await app.post(`/${where}/all/7/ann`, {});
      expect(answer.status).toBe(202);
      expect(answer.headers.get('x-made-by')).toBe('hand');
      expect(answer.body).toEqual({ value: 'number ANN', held: true });
      expect(keys).toEqual(['7.0:ANN']);
      expect((await app.post(`/${where}/all/seven/ann`, {})).status).toBe(400);
      expect(keys).toHaveLength(1);
    },
  );

  it('B32: name, length, types, symbol-keyed metadata and own properties of the method stay', () => {
    const mark = Symbol('mark');
    const Tag: MethodDecorator = (target, name, descriptor) => {
      Reflect.defineMetadata(mark, 'on the function', descriptor.value as object);
      Reflect.defineMetadata('named', { deep: true }, descriptor.value as object);
      Reflect.defineMetadata('on the property', 1, target, name);
      Object.assign(descriptor.value as object, { tagged: name });
    };
    class Plain {
      @Tag
      async act(id: number, name: string, ...rest: Date[]): Promise<string> {
        return Promise.resolve(`${id} ${name} ${rest.length}`);
      }
    }
    class WithLock {
      @Locked('k')
      @Tag
      async act(id: number, name: string, ...rest: Date[]): Promise<string> {
        return Promise.resolve(`${id} ${name} ${rest.length}`);
      }
    }
    const [plain, locked] = [Plain.prototype, WithLock.prototype];
    expect(locked.act.name).toBe('act');
    expect(locked.act).toHaveLength(2);
    expect(locked.act).toHaveProperty('tagged', 'act');
    const keys = Reflect.getOwnMetadataKeys(plain.act) as unknown[];
    expect(keys).toEqual(expect.arrayContaining([mark, 'named']));
    for (const key of keys) {
      expect(Reflect.getOwnMetadata(key, locked.act)).toEqual(Reflect.getOwnMetadata(key, plain.act));
    }
    const onProperty = Reflect.getOwnMetadataKeys(plain, 'act') as string[];
    expect(onProperty).toEqual(
      expect.arrayContaining(['design:type', 'design:paramtypes', 'design:returntype', 'on the property']),
    );
    for (const key of onProperty) {
      expect(Reflect.getOwnMetadata(key, locked, 'act')).toEqual(Reflect.getOwnMetadata(key, plain, 'act'));
    }
    const [before, after] = [plain, locked].map((proto) => Object.getOwnPropertyDescriptor(proto, 'act'));
    expect({ ...after, value: undefined }).toEqual({ ...before, value: undefined });
  });

  it('B32: a decorator above @Locked finds the metadata of those below', () => {
    let found: unknown;
    const Look: MethodDecorator = (_target, _name, descriptor) => {
      found = Reflect.getMetadata('role', descriptor.value as object);
    };
    class Things {
      @Look
      @Locked('k')
      @SetMetadata('role', 'clerk')
      async act(): Promise<void> {
        return Promise.resolve();
      }
    }
    expect(Things.prototype.act).toBeInstanceOf(Function);
    expect(found).toBe('clerk');
  });
});
