import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Locked } from '../../../lib/index.js';

/** Decorators of Nest's pipeline around `@Locked` are tested on every transport, see ../compatibility. */
describe('decorators around @Locked', () => {
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
});
