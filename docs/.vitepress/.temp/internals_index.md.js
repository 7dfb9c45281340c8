import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Internals: for contributors and for the curious","description":"","frontmatter":{},"headers":[],"relativePath":"internals/index.md","filePath":"docs/internals/README.md"}');
const _sfc_main = { name: "internals/index.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="internals-for-contributors-and-for-the-curious" tabindex="-1">Internals: for contributors and for the curious <a class="header-anchor" href="#internals-for-contributors-and-for-the-curious" aria-label="Permalink to &quot;Internals: for contributors and for the curious&quot;">​</a></h1><p>You don&#39;t need these pages to use the library.</p><ul><li><a href="https://repository.example/nestjs-distributed-lock/blob/main/docs/internals/architecture.md" target="_blank" rel="noreferrer">Architecture</a>: the parts of the code, the path of one call, where to change what, and the glossary</li><li><a href="/nestjs-distributed-lock/internals/how-it-works">How it works</a>: what is stored in Redis, requests and their cost, queues, leases, clocks, tokens</li><li><a href="https://repository.example/nestjs-distributed-lock/blob/main/docs/internals/rules.md" target="_blank" rel="noreferrer">Rules</a>: the numbered promises that code and tests cite</li><li><a href="https://repository.example/nestjs-distributed-lock/blob/main/docs/internals/decisions/README.md" target="_blank" rel="noreferrer">Decisions</a>: what was decided and why</li><li><a href="/nestjs-distributed-lock/internals/proof">What is proved, and how</a>: an explorer that tries every order of events</li><li><a href="https://repository.example/nestjs-distributed-lock/blob/main/docs/internals/soak.md" target="_blank" rel="noreferrer">The soak</a>: long runs under random faults, and a checker</li><li><a href="https://repository.example/nestjs-distributed-lock/blob/main/docs/internals/api" target="_blank" rel="noreferrer">API report</a>: the public declarations of every entry</li></ul><p>To contribute: <a href="/nestjs-distributed-lock/internals/contributing">CONTRIBUTING</a>.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/internals/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};
