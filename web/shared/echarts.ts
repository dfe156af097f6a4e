// The parts of ECharts that our pages use; what is not named here is not in the page.
import { BarChart, CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import { AxisPointerComponent, DataZoomComponent, GridComponent, MarkLineComponent, TooltipComponent } from 'echarts/components';
import * as core from 'echarts/core';
import { CanvasRenderer, SVGRenderer } from 'echarts/renderers';

core.use([
  BarChart, CustomChart, LineChart, ScatterChart,
  AxisPointerComponent, DataZoomComponent, GridComponent, MarkLineComponent, TooltipComponent,
  CanvasRenderer, SVGRenderer,
]);

export const init = core.init;
export type Chart = core.EChartsType;

// A chart as a file of its own: drawn anew without a page, as SVG.
export function svgOf(option: core.EChartsCoreOption, width: number, height: number, background: string): string {
  const chart = core.init(null, null, { renderer: 'svg', ssr: true, width, height });
  chart.setOption({ ...option, backgroundColor: background });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}
