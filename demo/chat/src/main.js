import {
  Platform,
  RootViewModel,
  FeatureSet,
  createNavigation,
  createRouter,
} from 'hydrogen-view-sdk';
import downloadSandbox from 'hydrogen-view-sdk/download-sandbox.html?url';
import worker from 'hydrogen-view-sdk/main.js?url';
import olmWasm from '@matrix-org/olm/olm.wasm?url';
import olmBundle from '@matrix-org/olm/olm.js?url';
import olmLegacy from '@matrix-org/olm/olm_legacy.js?url';
import lightTheme from 'hydrogen-view-sdk/assets/theme-element-light.css?url';
import darkTheme from 'hydrogen-view-sdk/assets/theme-element-dark.css?url';
import './page.css';
import { onlyInThisTab } from './one-tab.js';
import { signedInSession } from './session.js';
import { tileClass } from './tiles.js';

const assetPaths = {
  downloadSandbox,
  worker,
  olm: { wasm: olmWasm, wasmBundle: olmBundle, legacyBundle: olmLegacy },
};

/** Hydrogen without its service worker: the page is served from this machine, and a cached one would outlive updates. */
class ChatPlatform extends Platform {
  get updateService() {
    return {
      version: super.version,
      buildHash: 'Nomos',
      updateAuthData() {},
      checkForUpdate() {},
    };
  }
}

function addTheme(href, media) {
  const link = document.createElement('link');
  Object.assign(link, { rel: 'stylesheet', href, media });
  document.head.append(link);
  return new Promise((resolve, reject) => {
    link.onload = resolve;
    link.onerror = () => reject(new Error(`The style ${href} could not be loaded.`));
  });
}

function show(text) {
  const notice = document.createElement('p');
  notice.className = 'notice';
  notice.textContent = text;
  document.body.replaceChildren(notice);
}

async function main() {
  await Promise.all([
    addTheme(lightTheme, 'not (prefers-color-scheme: dark)'),
    addTheme(darkTheme, '(prefers-color-scheme: dark)'),
  ]);
  await onlyInThisTab();
  const { sessionId, lobby } = await signedInSession();
  const place = `#/session/${sessionId}`;
  const start = lobby === undefined ? place : `${place}/room/${lobby}`;
  const hash = location.hash.startsWith(place) ? location.hash : start;
  // The key has done its work and need not stand in the address any longer.
  history.replaceState(null, '', location.pathname + hash);
  const platform = new ChatPlatform({
    container: document.body,
    assetPaths,
    config: { defaultHomeServer: location.origin },
    options: { development: false },
  });
  const navigation = createNavigation();
  platform.setNavigation(navigation);
  await platform.init();
  const urlRouter = createRouter({ navigation, history: platform.history });
  urlRouter.attach();
  const features = await FeatureSet.load(platform.settingsStorage);
  const root = new RootViewModel({
    platform,
    urlRouter,
    navigation,
    features,
    tileClassForEntry: tileClass,
  });
  document.body.replaceChildren();
  platform.createAndMountRootView(root);
  await root.load();
}

main().catch((error) => {
  console.error(error);
  show(error.message);
});
