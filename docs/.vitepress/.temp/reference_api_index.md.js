import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"API","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/index.md","filePath":"docs/reference/api/README.md"}');
const _sfc_main = { name: "reference/api/index.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="api" tabindex="-1">API <a class="header-anchor" href="#api" aria-label="Permalink to &quot;API&quot;">​</a></h1><h2 id="modules" tabindex="-1">Modules <a class="header-anchor" href="#modules" aria-label="Permalink to &quot;Modules&quot;">​</a></h2><ul><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/">nestjs-distributed-lock</a></li><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/dashboard/">nestjs-distributed-lock/dashboard</a></li><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/etcd/">nestjs-distributed-lock/etcd</a></li><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/health/">nestjs-distributed-lock/health</a></li><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/leader/">nestjs-distributed-lock/leader</a></li><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/opentelemetry/">nestjs-distributed-lock/opentelemetry</a></li><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/postgres/">nestjs-distributed-lock/postgres</a></li><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/prometheus/">nestjs-distributed-lock/prometheus</a></li><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/redisson/">nestjs-distributed-lock/redisson</a></li><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/store/">nestjs-distributed-lock/store</a></li><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/testing/">nestjs-distributed-lock/testing</a></li><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/zookeeper/">nestjs-distributed-lock/zookeeper</a></li></ul></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};
