import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"nestjs-distributed-lock/prometheus","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/prometheus/index.md","filePath":"docs/reference/api/nestjs-distributed-lock/prometheus/README.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/prometheus/index.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="nestjs-distributed-lockprometheus" tabindex="-1">nestjs-distributed-lock/prometheus <a class="header-anchor" href="#nestjs-distributed-lockprometheus" aria-label="Permalink to &quot;nestjs-distributed-lock/prometheus&quot;">​</a></h1><h2 id="classes" tabindex="-1">Classes <a class="header-anchor" href="#classes" aria-label="Permalink to &quot;Classes&quot;">​</a></h2><ul><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/prometheus/classes/LockPrometheusModule">LockPrometheusModule</a></li></ul><h2 id="interfaces" tabindex="-1">Interfaces <a class="header-anchor" href="#interfaces" aria-label="Permalink to &quot;Interfaces&quot;">​</a></h2><ul><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/prometheus/interfaces/LockPrometheusOptions">LockPrometheusOptions</a></li></ul><h2 id="type-aliases" tabindex="-1">Type Aliases <a class="header-anchor" href="#type-aliases" aria-label="Permalink to &quot;Type Aliases&quot;">​</a></h2><ul><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/prometheus/type-aliases/AnyRegistry">AnyRegistry</a></li><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/prometheus/type-aliases/LockPrometheusAsyncOptions">LockPrometheusAsyncOptions</a></li></ul></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/prometheus/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};
