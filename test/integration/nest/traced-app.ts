import type { ModuleMetadata } from '@nestjs/common';
import { context, metrics, trace, type Span } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { MeterProvider, MetricReader, type MetricData } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { HttpApp } from './http-app.js';

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** A global set-up of OpenTelemetry that keeps everything in memory. */
export class Telemetry {
  private readonly exporter = new InMemorySpanExporter();
  private readonly reader = new Reader();
  readonly tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.exporter)] });
  readonly meters = new MeterProvider({ readers: [this.reader] });

  begin(): void {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    trace.setGlobalTracerProvider(this.tracers);
    metrics.setGlobalMeterProvider(this.meters);
  }

  end(): void {
    context.disable();
    trace.disable();
    metrics.disable();
  }

  /** Ended spans, in the order of their ends. */
  get spans(): readonly ReadableSpan[] {
    return this.exporter.getFinishedSpans();
  }

  named(name: string): readonly ReadableSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  /** The only span with that name. */
  span(name: string): ReadableSpan {
    const [span, ...others] = this.named(name);
    if (span === undefined || others.length > 0) {
      throw new Error(
        `there are ${this.named(name).length} of "${name}" among ${this.spans.map((each) => each.name).join()}`,
      );
    }
    return span;
  }

  /** Runs work like a traced request. */
  async inSpan<T>(name: string, work: (span: Span) => Promise<T>): Promise<T> {
    return await this.tracers.getTracer('test').startActiveSpan(name, async (span) => {
      try {
        return await work(span);
      } finally {
        span.end();
      }
    });
  }

  async metrics(): Promise<Readonly<Record<string, MetricData>>> {
    const { resourceMetrics } = await this.reader.collect();
    const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    return Object.fromEntries(all.map((metric) => [metric.descriptor.name, metric]));
  }
}

/** An application with a span for every request, like HTTP instrumentation. */
export function startTraced(telemetry: Telemetry, parts: ModuleMetadata): Promise<HttpApp> {
  return HttpApp.start(parts, (nest) => {
    nest.use((request: { url: string }, _: unknown, next: () => void) => {
      const span = telemetry.tracers.getTracer('test').startSpan(`GET ${request.url}`);
      context.with(trace.setSpan(context.active(), span), next);
      span.end();
    });
  });
}
