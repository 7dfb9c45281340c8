import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Operations","description":"","frontmatter":{},"headers":[],"relativePath":"operations/index.md","filePath":"docs/operations/README.md"}');
const _sfc_main = { name: "operations/index.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="operations" tabindex="-1">Operations <a class="header-anchor" href="#operations" aria-label="Permalink to &quot;Operations&quot;">​</a></h1><h2 id="on-day-1" tabindex="-1">On day 1 <a class="header-anchor" href="#on-day-1" aria-label="Permalink to &quot;On day 1&quot;">​</a></h2><ol><li><strong>Shut down cleanly.</strong> Call <code>app.enableShutdownHooks()</code>, and give the process more time than <code>shutdownTimeout</code> before it is killed (<a href="/nestjs-distributed-lock/operations/kubernetes#stopping">Kubernetes</a>).</li><li><strong>Check the store.</strong> Run <code>npx nestjs-distributed-lock doctor</code> from the network of the application (<a href="/nestjs-distributed-lock/reference/command-line#doctor">command line</a>).</li><li><strong>Health.</strong> Add the <a href="/nestjs-distributed-lock/operations/health">health indicator</a> to readiness, never to liveness.</li><li><strong>Metrics.</strong> Import the module for <a href="/nestjs-distributed-lock/operations/monitoring">Prometheus or OpenTelemetry</a>.</li><li><strong>Alerts and dashboard.</strong> Load the <a href="/nestjs-distributed-lock/operations/prometheus-alerts.yaml" download="">alert rules</a> into Prometheus, and import the <a href="/nestjs-distributed-lock/operations/grafana-dashboard.json" download="">dashboard</a> into Grafana. <a href="/nestjs-distributed-lock/operations/monitoring#what-to-alert-on">What each alert means</a>.</li><li><strong>Lock dashboard.</strong> Serve <a href="/nestjs-distributed-lock/operations/page">a page with the locks of all processes</a> to your operators.</li><li><strong>Runbook.</strong> Link the <a href="/nestjs-distributed-lock/operations/runbook">runbook</a> from your alerts. Try its first steps once before you need them.</li></ol><h2 id="pages" tabindex="-1">Pages <a class="header-anchor" href="#pages" aria-label="Permalink to &quot;Pages&quot;">​</a></h2><ul><li>In an incident: <a href="/nestjs-distributed-lock/operations/runbook">runbook</a>, <a href="/nestjs-distributed-lock/operations/restore">after a restore</a>, <a href="/nestjs-distributed-lock/operations/troubleshooting/">troubleshooting</a> by message</li><li><a href="/nestjs-distributed-lock/reference/command-line">Command line</a>: list held locks, find and break a stuck one, check a store, run a program under a lock</li><li><a href="/nestjs-distributed-lock/guides/inspecting#this-process"><code>LockAdmin</code></a>: the same in code</li><li><a href="/nestjs-distributed-lock/operations/kubernetes">Kubernetes, PM2 and serverless</a>: shutdown, probes, jobs</li><li><a href="/nestjs-distributed-lock/operations/scaling">Scaling</a>: cost, when to use more servers, regions</li><li><a href="/nestjs-distributed-lock/upgrading">Upgrading</a>: which versions may run at the same time</li></ul></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/operations/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};
