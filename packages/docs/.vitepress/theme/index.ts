import { type Theme, useRoute } from 'vitepress';
import theme from 'vitepress/theme-without-fonts';
import { h, nextTick, onMounted, watch } from 'vue';
import wide from '../../pictures/import.svg';
import narrow from '../../pictures/import-narrow.svg';
import { markMain, nameSearch, watchSearch } from './accessible.ts';
import FirstLink from './first-link.vue';
import LiveExample from './live-example.vue';
import './style.css';

const INSTALL = ['npm install --global @shortlink/cli', 'shortlink import links.csv'];
const PICTURE =
  'shortlink import in a terminal, twice: the first run creates every link, the second one none';

export default {
  extends: theme,
  Layout: () =>
    h(theme.Layout, null, {
      'home-hero-after': () => h(FirstLink),
      'home-hero-actions-after': () =>
        h('pre', { class: 'install' }, h('code', INSTALL.join('\n'))),
      'home-hero-image': () =>
        h('picture', { class: 'import' }, [
          h('source', { media: '(max-width: 640px)', srcset: narrow }),
          h('img', { src: wide, alt: PICTURE }),
        ]),
    }),
  enhanceApp({ app }) {
    app.component('LiveExample', LiveExample);
  },
  setup() {
    const route = useRoute();
    onMounted(() => {
      markMain();
      nameSearch();
      watchSearch();
    });
    watch(
      () => route.path,
      () => nextTick(markMain),
    );
  },
} satisfies Theme;
