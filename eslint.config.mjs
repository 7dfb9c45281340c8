import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  {
    ignores: [
      '**/dist/',
      'build/',
      '**/node_modules/',
      'coverage/',
      '**/*.generated.ts',
      'examples/*/generated/',
      'docs/.vitepress/cache/',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-floating-promises': ['error', { checkThenables: true }],
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/promise-function-async': 'off',
      // A promise that is returned out of a try block escapes its catch and finally.
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: true },
      ],
      // The compiler reports these (noUnusedLocals, noUnusedParameters), and knows of {@link} and of typeof.
      '@typescript-eslint/no-unused-vars': 'off',
      // The numbers of a message need no String() around them.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // Nest's modules are classes that carry nothing but a decorator.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      // `() => void doIt()` says that the result is not wanted.
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidOperator: true },
      ],
      '@typescript-eslint/no-meaningless-void-operator': 'off',
      // Nest and others declare the type of an options object as a class that nobody instantiates.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // Method overloads that only differ in one place still document different calls.
      '@typescript-eslint/unified-signatures': 'off',
      '@typescript-eslint/class-literal-property-style': 'off',
      eqeqeq: 'error',
      'no-console': 'error',
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            { regex: '/(dist|build)/', message: 'Import from lib, or from the package by its name.' },
          ],
        },
      ],
    },
  },
  {
    files: ['lib/**/*.ts'],
    rules: {
      // Optional peers are loaded when their store is used.
      '@typescript-eslint/no-require-imports': ['error', { allow: ['^(ioredis|pg|@grpc/grpc-js)$'] }],
      'max-lines': ['error', { max: 500, skipBlankLines: true, skipComments: true }],
      'no-restricted-imports': [
        'error',
        { paths: [{ name: 'nestjs-distributed-lock', message: 'Import the file itself.' }] },
      ],
    },
  },
  {
    // Each is one thing, and long: the table at its top says what it does.
    files: ['lib/engine/line.ts', 'lib/engine/tickets.ts'],
    rules: { 'max-lines': ['error', { max: 1_000, skipBlankLines: true, skipComments: true }] },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // Fakes and callbacks have to be async because of the type that they stand for, and empty for the same reason.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      // Jest's matchers take methods by reference: expect(store.acquire).toHaveBeenCalled().
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/explicit-module-boundary-types': 'off',
      // A constructor that only calls super() still tells Nest, by its parameter types, what to inject.
      '@typescript-eslint/no-useless-constructor': 'off',
      '@typescript-eslint/no-extraneous-class': 'off',
      // A `!` that is wrong fails the test in the same line.
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    files: ['sample-app/**/*.ts', 'examples/**/*.ts', 'test/package/consumers/**/*.ts'],
    // Applications with dependencies of their own: without those their types are unknown here.
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      // Their compiler turns the types of constructors into values that Nest injects by.
      parserOptions: { experimentalDecorators: true, emitDecoratorMetadata: true },
    },
    rules: {
      'no-console': 'off',
      '@typescript-eslint/explicit-module-boundary-types': 'off',
    },
  },
  {
    files: ['**/*.{js,mjs,cjs}'],
    languageOptions: {
      globals: {
        AbortController: 'readonly',
        AbortSignal: 'readonly',
        Buffer: 'readonly',
        URL: 'readonly',
        clearInterval: 'readonly',
        clearTimeout: 'readonly',
        console: 'readonly',
        fetch: 'readonly',
        performance: 'readonly',
        process: 'readonly',
        setImmediate: 'readonly',
        setInterval: 'readonly',
        setTimeout: 'readonly',
      },
    },
    rules: { eqeqeq: 'error', 'no-unused-vars': ['error', { argsIgnorePattern: '^_' }] },
  },
);
