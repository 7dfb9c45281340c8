import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"运维","description":"","frontmatter":{},"headers":[],"relativePath":"zh/operations/index.md","filePath":"docs/zh/operations/README.md"}');
const _sfc_main = { name: "zh/operations/index.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="运维" tabindex="-1">运维 <a class="header-anchor" href="#运维" aria-label="Permalink to &quot;运维&quot;">​</a></h1><h2 id="上线之前" tabindex="-1">上线之前 <a class="header-anchor" href="#上线之前" aria-label="Permalink to &quot;上线之前&quot;">​</a></h2><ol><li><strong>正常关闭。</strong> 调用 <code>app.enableShutdownHooks()</code>，并且让进程被强行终止之前的时间超过 <code>shutdownTimeout</code>（<a href="/nestjs-distributed-lock/zh/operations/kubernetes#停止">Kubernetes</a>）。</li><li><strong>检查存储。</strong> 在应用所在的网络中运行 <code>npx nestjs-distributed-lock doctor</code>（<a href="/nestjs-distributed-lock/reference/command-line#doctor">命令行工具</a>）。</li><li><strong>健康检查。</strong> 把<a href="/nestjs-distributed-lock/operations/health">健康检查</a>加入 readiness，绝不要加入 liveness。</li><li><strong>指标。</strong> 导入 <a href="/nestjs-distributed-lock/zh/operations/monitoring">Prometheus 或 OpenTelemetry</a> 的模块。</li><li><strong>告警和仪表盘。</strong> 把<a href="/nestjs-distributed-lock/operations/prometheus-alerts.yaml" download="">告警规则</a>加载到 Prometheus，把<a href="/nestjs-distributed-lock/operations/grafana-dashboard.json" download="">仪表盘</a>导入 Grafana。<a href="/nestjs-distributed-lock/zh/operations/monitoring#哪些情况要告警">每个告警的含义</a>。</li><li><strong>锁控制台。</strong> 向运维人员提供<a href="/nestjs-distributed-lock/operations/page">显示所有进程的锁的页面</a>。</li><li><strong>运维手册。</strong> 在告警中链接<a href="/nestjs-distributed-lock/zh/operations/runbook">运维手册</a>。在真正需要之前，先试一遍前几步。</li></ol><h2 id="页面" tabindex="-1">页面 <a class="header-anchor" href="#页面" aria-label="Permalink to &quot;页面&quot;">​</a></h2><ul><li>出现故障时：<a href="/nestjs-distributed-lock/zh/operations/runbook">运维手册</a>、<a href="/nestjs-distributed-lock/operations/restore">恢复备份之后</a>、按错误信息查找的<a href="/nestjs-distributed-lock/operations/troubleshooting/">故障排查</a></li><li><a href="/nestjs-distributed-lock/reference/command-line">命令行工具</a>：列出持有的锁、找到并强制释放卡住的锁、检查存储、在锁内运行程序</li><li><a href="/nestjs-distributed-lock/zh/guides/inspecting#本进程"><code>LockAdmin</code></a>：在代码中完成同样的事</li><li><a href="/nestjs-distributed-lock/zh/operations/kubernetes">Kubernetes、PM2 和 Serverless</a>：关闭、探针、任务</li><li><a href="/nestjs-distributed-lock/operations/scaling">扩展</a>：开销，什么时候增加服务器，跨地域</li><li><a href="/nestjs-distributed-lock/upgrading">升级</a>：哪些版本可以同时运行</li></ul></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/zh/operations/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};
