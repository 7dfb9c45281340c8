const _imports_0 = "/nestjs-distributed-lock/assets/stuck.CgvwPzBz.png";
export {
  _imports_0 as _
};
