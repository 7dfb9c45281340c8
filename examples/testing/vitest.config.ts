import swc from 'unplugin-swc';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Vitest's own compiler emits no decorator metadata, which Nest needs to inject by type.
  plugins: [
    swc.vite({
      jsc: {
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
      },
    }),
  ],
  test: {
    include: ['src/**/*.spec.ts', 'src/timers.vitest.ts'],
    exclude: ['src/timers.spec.ts'],
    // Runs the specs of the Jest samples. Your own import from 'vitest'.
    alias: { '@jest/globals': 'vitest' },
  },
});
