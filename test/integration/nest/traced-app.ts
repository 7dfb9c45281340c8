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

/** What an application sets up of OpenTelemetry, with everything kept in memory; it is global, as it is there. */
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

  /** Spans that have ended, in that order. */
  get spans(): readonly ReadableSpan[] {
    return this.exporter.getFinishedSpans();
  }

  forgetSpans(): void {
    this.exporter.reset();
  }

  named(name: string): readonly ReadableSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  /** The only one. */
  span(name: string): ReadableSpan {
    const [span, ...others] = this.named(name);
    if (span === undefined || others.length > 0) {
      throw new Error(
        `there are ${this.named(name).length} of "${name}" among ${this.spans.map((each) => each.name).join()}`,
      );
    }
    return span;
  }

  /** Runs work as a request does that somebody traces. */
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

/** An application whose every request has a span, as instrumentation of HTTP makes it. */
export function startTraced(telemetry: Telemetry, parts: ModuleMetadata): Promise<HttpApp> {
  return HttpApp.start(parts, (nest) => {
    nest.use((request: { url: string }, _: unknown, next: () => void) => {
      const span = telemetry.tracers.getTracer('test').startSpan(`GET ${request.url}`);
      context.with(trace.setSpan(context.active(), span), next);
      span.end();
    });
  });
}
