import {
  ConfigurableModuleBuilder,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type InjectionToken,
} from '@nestjs/common';
import { checkNames, checkObject, refuse } from '../../model/option-checks.js';

const SOURCES = ['useFactory', 'useClass', 'useExisting'] as const;
const KNOWN = ['imports', 'inject', ...SOURCES, 'provideInjectionTokensFrom'];
const GIVEN = Symbol('options of the factory');

/**
 * @param beside options that belong next to the factory
 * @throws LockOptionsError unless the options come from a factory, a class or an existing provider
 */
export function checkAsyncOptions(where: string, options: unknown, beside: readonly string[] = []): void {
  const given = checkObject(where, options) as ConfigurableModuleAsyncOptions<unknown>;
  checkNames(where, given, new Set([...KNOWN, ...beside]));
  const sources = SOURCES.filter((name) => given[name] !== undefined);
  if (sources.length === 1) return;
  refuse(where, 'give one of useFactory, useClass and useExisting', sources.join(' and ') || undefined);
}

/**
 * The part of a dynamic module that provides options from a factory, a class (method `create`) or an existing provider.
 *
 * @param token provides the options that `resolve` has checked
 * @param beside options that belong next to the factory, which must not return them
 */
export function asyncOptions<Options>(
  where: string,
  options: ConfigurableModuleAsyncOptions<Options>,
  token: InjectionToken,
  resolve: (where: string, given: Options) => object,
  ...beside: readonly string[]
): Required<Pick<DynamicModule, 'imports' | 'providers'>> {
  checkAsyncOptions(where, options, beside);
  const useFactory = (given: Options): object => {
    const misplaced = beside.find((name) => name in checkObject(where, given));
    if (misplaced !== undefined) {
      refuse(where, `${misplaced} belongs next to useFactory (useClass, useExisting)`, misplaced);
    }
    return resolve(where, given);
  };
  const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<Options>({
    optionsInjectionToken: GIVEN,
  }).build();
  const { imports = [], providers = [] } = ConfigurableModuleClass.registerAsync(options);
  return { imports, providers: [...providers, { provide: token, useFactory, inject: [GIVEN] }] };
}
