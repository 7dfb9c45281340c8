/** What the theme says in Chinese. */
export const themeInChinese = {
  outline: { level: [2, 3], label: '本页目录' },
  docFooter: { prev: '上一页', next: '下一页' },
  darkModeSwitchLabel: '主题',
  lightModeSwitchTitle: '切换到浅色模式',
  darkModeSwitchTitle: '切换到深色模式',
  sidebarMenuLabel: '菜单',
  returnToTopLabel: '回到顶部',
  langMenuLabel: '切换语言',
  skipToContentLabel: '跳转到内容',
  notFound: {
    title: '页面未找到',
    quote: '这个地址没有对应的页面。',
    linkLabel: '前往首页',
    linkText: '返回首页',
  },
};

export const alertsInChinese = {
  note: '说明',
  tip: '提示',
  important: '重要',
  warning: '警告',
  caution: '注意',
};

export const searchInChinese = {
  translations: {
    button: { buttonText: '搜索', buttonAriaLabel: '搜索文档' },
    modal: {
      displayDetails: '显示详细列表',
      resetButtonTitle: '清除查询条件',
      backButtonTitle: '关闭搜索',
      noResultsText: '没有找到相关结果',
      footer: {
        selectText: '选择',
        selectKeyAriaLabel: '回车',
        navigateText: '切换',
        navigateUpKeyAriaLabel: '上箭头',
        navigateDownKeyAriaLabel: '下箭头',
        closeText: '关闭',
        closeKeyAriaLabel: 'Esc',
      },
    },
  },
};
