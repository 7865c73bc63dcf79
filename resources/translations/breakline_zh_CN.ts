<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<!-- SPDX-License-Identifier: GPL-3.0-or-later -->
<TS version="2.1" language="zh_CN" sourcelanguage="en">
 <context>
  <name>Graph</name>
  <message>
   <source>%1 per call</source>
   <translation>每次调用 %1 次</translation>
  </message>
  <message>
   <source>strict would reject</source>
   <translation>严格策略会拒绝</translation>
  </message>
  <message>
   <source>%1 guard</source>
   <translation>%1 个守卫</translation>
  </message>
  <message>
   <source>%1 guards</source>
   <translation>%1 个守卫</translation>
  </message>
  <message>
   <source>result: %1</source>
   <translation>结果：%1</translation>
  </message>
  <message>
   <source>double click shows all ops</source>
   <translation>双击显示所有运算</translation>
  </message>
  <message>
   <source>%1 · no ops</source>
   <translation>%1 · 无运算</translation>
  </message>
  <message>
   <source>+ %1 more</source>
   <translation>+ 另外 %1 个</translation>
  </message>
  <message>
   <source>%1 op</source>
   <translation>%1 个运算</translation>
  </message>
  <message>
   <source>%1 ops</source>
   <translation>%1 个运算</translation>
  </message>
  <message>
   <source>%1 kernel</source>
   <translation>%1 个内核</translation>
  </message>
  <message>
   <source>%1 kernels</source>
   <translation>%1 个内核</translation>
  </message>
  <message>
   <source>%1 run</source>
   <translation>运行 %1 次</translation>
  </message>
  <message>
   <source>%1 runs</source>
   <translation>运行 %1 次</translation>
  </message>
  <message>
   <source>line %1 · %2</source>
   <translation>第 %1 行 · %2</translation>
  </message>
  <message>
   <source>error</source>
   <translation>错误</translation>
  </message>
  <message>
   <source>allowed</source>
   <translation>已允许</translation>
  </message>
 </context>
 <context>
  <name>Panel</name>
  <message>
   <source>Source</source>
   <translation>源代码</translation>
  </message>
  <message>
   <source>Partition graph</source>
   <translation>分区图</translation>
  </message>
  <message>
   <source>Policies</source>
   <translation>策略</translation>
  </message>
  <message>
   <source>Breaks</source>
   <translation>图断点</translation>
  </message>
  <message>
   <source>Timings</source>
   <translation>计时</translation>
  </message>
  <message>
   <source>Details</source>
   <translation>详情</translation>
  </message>
  <message>
   <source>Error</source>
   <translation>错误</translation>
  </message>
  <message>
   <source>Kernels</source>
   <translation>内核</translation>
  </message>
  <message>
   <source>Output</source>
   <translation>输出</translation>
  </message>
 </context>
 <context>
  <name>Policy</name>
  <message>
   <source>patch</source>
   <translation>补丁</translation>
  </message>
  <message>
   <source>module</source>
   <translation>模块</translation>
  </message>
  <message>
   <source>lines</source>
   <translation>行</translation>
  </message>
  <message>
   <source>%1 break</source>
   <translation>%1 个断点</translation>
  </message>
  <message>
   <source>%1 breaks</source>
   <translation>%1 个断点</translation>
  </message>
  <message>
   <source>error</source>
   <translation>错误</translation>
  </message>
  <message>
   <source>allow</source>
   <translation>允许</translation>
  </message>
  <message>
   <source>inherit</source>
   <translation>继承</translation>
  </message>
  <message>
   <source>function</source>
   <translation>函数</translation>
  </message>
  <message>
   <source>method</source>
   <translation>方法</translation>
  </message>
  <message>
   <source>with block</source>
   <translation>with 块</translation>
  </message>
  <message>
   <source>decorator</source>
   <translation>装饰器</translation>
  </message>
  <message>
   <source>the default</source>
   <translation>默认值</translation>
  </message>
  <message>
   <source>a region around the call</source>
   <translation>调用处外层的区域</translation>
  </message>
  <message>
   <source>fullgraph=True of the target</source>
   <translation>目标的 fullgraph=True 设置</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::Banner</name>
  <message>
   <source>Hide this message</source>
   <translation>隐藏此消息</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::BreakTableModel</name>
  <message>
   <source>in %1, line %2, called from here</source>
   <translation>在 %1 第 %2 行，由此处调用</translation>
  </message>
  <message>
   <source>Times this break is executed in one call of the target, on average over the calls of the script or, after a toggle, over the recorded ones</source>
   <translation>目标每次调用执行此中断的次数：对脚本中的各次调用取平均；切换策略后对记录的各次调用取平均</translation>
  </message>
  <message>
   <source>allow → error (first)</source>
   <translation>允许 → 错误（最先）</translation>
  </message>
  <message>
   <source>allow → error</source>
   <translation>允许 → 错误</translation>
  </message>
  <message>
   <source>error</source>
   <translation>错误</translation>
  </message>
  <message>
   <source>allow</source>
   <translation>允许</translation>
  </message>
  <message>
   <source>%1, decided by %2</source>
   <translation>%1，由 %2 决定</translation>
  </message>
  <message>
   <source>Line</source>
   <translation>行</translation>
  </message>
  <message>
   <source>Why</source>
   <translation>原因</translation>
  </message>
  <message>
   <source>n</source>
   <translation>次数</translation>
  </message>
  <message>
   <source>Cost</source>
   <translation>代价</translation>
  </message>
  <message>
   <source>Policy</source>
   <translation>策略</translation>
  </message>
  <message>
   <source>What the policy in force does here</source>
   <translation>当前策略在此处的作用</translation>
  </message>
  <message>
   <source>An error ends the call here, so there is nothing to enter again.</source>
   <translation>调用在此处因错误结束，没有需要重新进入的图。</translation>
  </message>
  <message>
   <source>Not measured: %1.</source>
   <translation>未测量：%1。</translation>
  </message>
  <message>
   <source>Not measured: the recorded call does not come by here.</source>
   <translation>未测量：所记录的调用没有经过此处。</translation>
  </message>
  <message>
   <source>Measured price of leaving and entering here, per event; the instruction itself is not in it</source>
   <translation>在此处离开并重新进入图的实测代价（每次）；不含指令本身</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::BreaksPanel</name>
  <message>
   <source>Not everything was traced</source>
   <translation>并非全部代码都被追踪</translation>
  </message>
  <message>
   <source>No break, but code was left to Python as a whole.</source>
   <translation>没有中断，但有代码整体交给了 Python。</translation>
  </message>
  <message>
   <source>Skipped:</source>
   <translation>跳过：</translation>
  </message>
  <message>
   <source>Cost:</source>
   <translation>代价：</translation>
  </message>
  <message>
   <source>… and %1 more</source>
   <translation>……另有 %1 个</translation>
  </message>
  <message>
   <source>No breaks to show</source>
   <translation>没有可显示的断点</translation>
  </message>
  <message>
   <source>Open a script and its graph breaks are listed here.</source>
   <translation>打开脚本后，图断点会列在这里。</translation>
  </message>
  <message>
   <source>Breaks</source>
   <translation>图断点</translation>
  </message>
  <message>
   <source>No graph breaks</source>
   <translation>没有图断点</translation>
  </message>
  <message>
   <source>Everything that was traced is in whole graphs.</source>
   <translation>所有追踪到的代码都在完整的图中。</translation>
  </message>
  <message>
   <source>This line</source>
   <translation>此行</translation>
  </message>
  <message>
   <source>This function</source>
   <translation>此函数</translation>
  </message>
  <message>
   <source>Being measured…</source>
   <translation>正在测量…</translation>
  </message>
  <message>
   <source>Not measured yet: press Measure.</source>
   <translation>尚未测量：请点击“测量”。</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::CommandPalette</name>
  <message>
   <source>Type a command</source>
   <translation>输入命令</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::DetailsPanel</name>
  <message>
   <source>happens in</source>
   <translation>发生于</translation>
  </message>
  <message>
   <source>%1 per call</source>
   <translation>每次调用 %1 次</translation>
  </message>
  <message>
   <source>Nothing selected</source>
   <translation>未选择任何内容</translation>
  </message>
  <message>
   <source>Select a break, a segment, a region or a line.</source>
   <translation>请选择断点、图段、区域或代码行。</translation>
  </message>
  <message>
   <source>Go to the first break</source>
   <translation>转到第一个断点</translation>
  </message>
  <message>
   <source>Details in English / 简体中文</source>
   <translation>详情语言：English / 简体中文</translation>
  </message>
  <message>
   <source>Switch the language of the explanation (%1)</source>
   <translation>切换说明的语言（%1）</translation>
  </message>
  <message>
   <source>%1, line %2</source>
   <translation>%1，第 %2 行</translation>
  </message>
  <message>
   <source>, columns %1–%2</source>
   <translation>，第 %1–%2 列</translation>
  </message>
  <message>
   <source>%1, decided by %2</source>
   <translation>%1，由 %2 决定</translation>
  </message>
  <message>
   <source>error</source>
   <translation>错误</translation>
  </message>
  <message>
   <source>allowed</source>
   <translation>已允许</translation>
  </message>
  <message>
   <source>Hints</source>
   <translation>提示</translation>
  </message>
  <message>
   <source>Call chain</source>
   <translation>调用链</translation>
  </message>
  <message>
   <source>Context</source>
   <translation>上下文</translation>
  </message>
  <message>
   <source>Looking up what is known about it…</source>
   <translation>正在查找已知信息…</translation>
  </message>
  <message>
   <source>Known about it</source>
   <translation>已知信息</translation>
  </message>
  <message>
   <source>No record matches this break.</source>
   <translation>没有与此断点匹配的记录。</translation>
  </message>
  <message>
   <source>Segment without ops</source>
   <translation>没有运算的图段</translation>
  </message>
  <message>
   <source>Segment (a graph)</source>
   <translation>图段（一个图）</translation>
  </message>
  <message>
   <source>%1, lines %2–%3</source>
   <translation>%1，第 %2–%3 行</translation>
  </message>
  <message>
   <source>%1 op</source>
   <translation>%1 个运算</translation>
  </message>
  <message>
   <source>%1 ops</source>
   <translation>%1 个运算</translation>
  </message>
  <message>
   <source>%1 kernel</source>
   <translation>%1 个内核</translation>
  </message>
  <message>
   <source>%1 kernels</source>
   <translation>%1 个内核</translation>
  </message>
  <message>
   <source>%1 guard</source>
   <translation>%1 个守卫</translation>
  </message>
  <message>
   <source>%1 guards</source>
   <translation>%1 个守卫</translation>
  </message>
  <message>
   <source>%1 run</source>
   <translation>运行 %1 次</translation>
  </message>
  <message>
   <source>%1 runs</source>
   <translation>运行 %1 次</translation>
  </message>
  <message>
   <source>Plan</source>
   <translation>执行方案</translation>
  </message>
  <message>
   <source>Measure under no_grad</source>
   <translation>在 no_grad 下测量</translation>
  </message>
  <message>
   <source>traced in %1, compiled in %2</source>
   <translation>追踪用时 %1，编译用时 %2</translation>
  </message>
  <message>
   <source>ends with: %1</source>
   <translation>结束方式：%1</translation>
  </message>
  <message>
   <source>Kernels</source>
   <translation>内核</translation>
  </message>
  <message>
   <source>Ops</source>
   <translation>运算</translation>
  </message>
  <message>
   <source>In force</source>
   <translation>生效策略</translation>
  </message>
  <message>
   <source>decided by %1</source>
   <translation>由 %1 决定</translation>
  </message>
  <message>
   <source>In the code</source>
   <translation>代码中</translation>
  </message>
  <message>
   <source>Your overlay</source>
   <translation>你的覆盖</translation>
  </message>
  <message>
   <source>line %1: %2</source>
   <translation>第 %1 行：%2</translation>
  </message>
  <message>
   <source>Breaks inside</source>
   <translation>其中的断点</translation>
  </message>
  <message>
   <source>Line %1</source>
   <translation>第 %1 行</translation>
  </message>
  <message>
   <source>%1, segment %2</source>
   <translation>%1，图段 %2</translation>
  </message>
  <message>
   <source>No compiled op comes from this line.</source>
   <translation>此行没有产生编译的运算。</translation>
  </message>
  <message>
   <source>policy in force: %1</source>
   <translation>生效策略：%1</translation>
  </message>
  <message>
   <source>… %1 library frame</source>
   <translation>… %1 个库帧</translation>
  </message>
  <message>
   <source>… %1 library frames</source>
   <translation>… %1 个库帧</translation>
  </message>
  <message>
   <source>Cost:</source>
   <translation>代价：</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::DistributionPlot</name>
  <message>
   <source>same</source>
   <translation>一致</translation>
  </message>
  <message>
   <source>differs</source>
   <translation>不一致</translation>
  </message>
  <message>
   <source>Time per call, one distribution per arm</source>
   <translation>每次调用的时间，每种方式一个分布</translation>
  </message>
  <message>
   <source>Reset the range</source>
   <translation>重置范围</translation>
  </message>
  <message>
   <source>Export the plot…</source>
   <translation>导出图表…</translation>
  </message>
  <message>
   <source>Export the plot</source>
   <translation>导出图表</translation>
  </message>
  <message>
   <source>time per call (%1)</source>
   <translation>每次调用时间（%1）</translation>
  </message>
  <message>
   <source>not available</source>
   <translation>不可用</translation>
  </message>
  <message>
   <source>%1: median %2, middle half %3 to %4, %5 samples</source>
   <translation>%1：中位数 %2，中间一半 %3 至 %4，%5 个样本</translation>
  </message>
  <message>
   <source>Image (*.png);;PDF (*.pdf)</source>
   <translation>图片 (*.png);;PDF (*.pdf)</translation>
  </message>
  <message>
   <source>time per call (%1, logarithmic)</source>
   <translation>每次调用耗时（%1，对数坐标）</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::Document</name>
  <message>
   <source>%1 cannot be read (%2): check the path.</source>
   <translation>无法读取 %1（%2）：请检查路径。</translation>
  </message>
  <message>
   <source>%1 is not UTF-8 text: save it as UTF-8, then open it again.</source>
   <translation>%1 不是 UTF-8 文本：请另存为 UTF-8 后再打开。</translation>
  </message>
  <message>
   <source>The folder of %1 is gone: your text is kept, save it under another name.</source>
   <translation>%1 所在的文件夹已不存在：你的文本已保留，请另存为其他名称。</translation>
  </message>
  <message>
   <source>%1 cannot be written (no permission): your text is kept, save it under another name.</source>
   <translation>无法写入 %1（没有权限）：你的文本已保留，请另存为其他名称。</translation>
  </message>
  <message>
   <source>%1 cannot be written (%2): your text is kept, save it under another name.</source>
   <translation>无法写入 %1（%2）：你的文本已保留，请另存为其他名称。</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::ErrorPanel</name>
  <message>
   <source>No errors</source>
   <translation>没有错误</translation>
  </message>
  <message>
   <source>Set a region to “error” and the exception that your program would get is shown here.</source>
   <translation>把某个区域设为“错误”，你的程序会得到的异常就显示在这里。</translation>
  </message>
  <message>
   <source>target %1:</source>
   <translation>目标 %1：</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::GraphPanel</name>
  <message>
   <source>No graphs</source>
   <translation>没有图</translation>
  </message>
  <message>
   <source>Nothing of this target was traced: see the list of breaks.</source>
   <translation>此目标没有任何代码被追踪：请看中断列表。</translation>
  </message>
  <message>
   <source>No graphs yet</source>
   <translation>还没有图</translation>
  </message>
  <message>
   <source>Once a script is compiled, its segments and breaks are drawn here.</source>
   <translation>脚本编译后，其图段与断点会画在这里。</translation>
  </message>
  <message>
   <source>Open…</source>
   <translation>打开…</translation>
  </message>
  <message>
   <source>Partition graph</source>
   <translation>分区图</translation>
  </message>
  <message>
   <source>Fit graph</source>
   <translation>适合窗口</translation>
  </message>
  <message>
   <source>Zoom in</source>
   <translation>放大</translation>
  </message>
  <message>
   <source>Zoom out</source>
   <translation>缩小</translation>
  </message>
  <message>
   <source>Find op</source>
   <translation>查找运算</translation>
  </message>
  <message>
   <source>segment %1</source>
   <translation>图段 %1</translation>
  </message>
  <message>
   <source>error: compilation stops here</source>
   <translation>错误：编译在此停止</translation>
  </message>
  <message>
   <source>back to Python</source>
   <translation>回到 Python</translation>
  </message>
  <message>
   <source>: compilation stops here</source>
   <translation>：编译在此停止</translation>
  </message>
  <message>
   <source>call</source>
   <translation>调用</translation>
  </message>
  <message>
   <source>%1 graph</source>
   <translation>%1 个图</translation>
  </message>
  <message>
   <source>%1 graphs</source>
   <translation>%1 个图</translation>
  </message>
  <message>
   <source>%1 break</source>
   <translation>%1 个断点</translation>
  </message>
  <message>
   <source>%1 breaks</source>
   <translation>%1 个断点</translation>
  </message>
  <message>
   <source>%1 hit</source>
   <translation>%1 处匹配</translation>
  </message>
  <message>
   <source>%1 hits</source>
   <translation>%1 处匹配</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::KernelsPanel</name>
  <message>
   <source>No kernel selected</source>
   <translation>未选择内核</translation>
  </message>
  <message>
   <source>Select a compiled segment to see its kernels.</source>
   <translation>选择一个已编译的图段以查看其内核。</translation>
  </message>
  <message>
   <source>This segment has no kernels of its own</source>
   <translation>此图段没有自己的内核</translation>
  </message>
  <message>
   <source>The engine sent no source for this kernel.</source>
   <translation>引擎没有发送此内核的源代码。</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::MainWindow</name>
  <message>
   <source>shown: results %1</source>
   <translation>所示为%1的结果</translation>
  </message>
  <message>
   <source>graphs…</source>
   <translation>图…</translation>
  </message>
  <message>
   <source>breaks…</source>
   <translation>中断…</translation>
  </message>
  <message>
   <source> +%1 skipped</source>
   <translation> +%1 个跳过</translation>
  </message>
  <message>
   <source>These counts are %1.</source>
   <translation>这些数字属于：%1。</translation>
  </message>
  <message>
   <source>recompiled in %1</source>
   <translation>重新编译用时 %1</translation>
  </message>
  <message>
   <source>Open…</source>
   <translation>打开…</translation>
  </message>
  <message>
   <source>Save and recompile</source>
   <translation>保存并重新编译</translation>
  </message>
  <message>
   <source>Save as…</source>
   <translation>另存为…</translation>
  </message>
  <message>
   <source>Choose interpreter…</source>
   <translation>选择解释器…</translation>
  </message>
  <message>
   <source>Choose a Python interpreter (3.11 or newer with torch)</source>
   <translation>选择 Python 解释器（3.11 或更新，带 torch）</translation>
  </message>
  <message>
   <source>Recompile</source>
   <translation>重新编译</translation>
  </message>
  <message>
   <source>Stop</source>
   <translation>停止</translation>
  </message>
  <message>
   <source>Restart engine</source>
   <translation>重启引擎</translation>
  </message>
  <message>
   <source>Clear selection</source>
   <translation>清除选择</translation>
  </message>
  <message>
   <source>Remove all toggles</source>
   <translation>移除所有切换</translation>
  </message>
  <message>
   <source>Light theme</source>
   <translation>浅色主题</translation>
  </message>
  <message>
   <source>Dark theme</source>
   <translation>深色主题</translation>
  </message>
  <message>
   <source>Switch light / dark</source>
   <translation>切换浅色／深色</translation>
  </message>
  <message>
   <source>Reset layout</source>
   <translation>重置布局</translation>
  </message>
  <message>
   <source>Command palette</source>
   <translation>命令面板</translation>
  </message>
  <message>
   <source>Quit</source>
   <translation>退出</translation>
  </message>
  <message>
   <source>Redo toggle</source>
   <translation>重做切换</translation>
  </message>
  <message>
   <source>Undo toggle</source>
   <translation>撤销切换</translation>
  </message>
  <message>
   <source>Main</source>
   <translation>主工具栏</translation>
  </message>
  <message>
   <source>Open</source>
   <translation>打开</translation>
  </message>
  <message>
   <source>Target</source>
   <translation>目标</translation>
  </message>
  <message>
   <source>Device</source>
   <translation>设备</translation>
  </message>
  <message>
   <source>Policy set</source>
   <translation>策略集</translation>
  </message>
  <message>
   <source>Compiled graphs; opens the partition graph</source>
   <translation>编译的图；打开分区图</translation>
  </message>
  <message>
   <source>Graph breaks; opens their list</source>
   <translation>图断点；打开其列表</translation>
  </message>
  <message>
   <source>Eager time ÷ compiled time; opens the timings</source>
   <translation>即时模式时间 ÷ 编译后时间；打开计时</translation>
  </message>
  <message>
   <source>Show %1</source>
   <translation>显示%1</translation>
  </message>
  <message>
   <source>Bring %1 to the front</source>
   <translation>把%1移到最前</translation>
  </message>
  <message>
   <source>&amp;File</source>
   <translation>文件(&amp;F)</translation>
  </message>
  <message>
   <source>&amp;Edit</source>
   <translation>编辑(&amp;E)</translation>
  </message>
  <message>
   <source>&amp;Run</source>
   <translation>运行(&amp;R)</translation>
  </message>
  <message>
   <source>&amp;Policy</source>
   <translation>策略(&amp;P)</translation>
  </message>
  <message>
   <source>&amp;View</source>
   <translation>视图(&amp;V)</translation>
  </message>
  <message>
   <source>&amp;Help</source>
   <translation>帮助(&amp;H)</translation>
  </message>
  <message>
   <source>open another file</source>
   <translation>打开其他文件</translation>
  </message>
  <message>
   <source>%1 is a folder: open a Python file in it.</source>
   <translation>%1 是文件夹：请打开其中的 Python 文件。</translation>
  </message>
  <message>
   <source>Unsaved text</source>
   <translation>未保存的文本</translation>
  </message>
  <message>
   <source>%1 has unsaved text. Save it before you %2?</source>
   <translation>%1 有未保存的文本。要在%2之前保存吗？</translation>
  </message>
  <message>
   <source>Open a PyTorch script</source>
   <translation>打开 PyTorch 脚本</translation>
  </message>
  <message>
   <source>Save as</source>
   <translation>另存为</translation>
  </message>
  <message>
   <source>%1 was removed from the disk: your text is kept here, save it to bring it back.</source>
   <translation>%1 已从磁盘删除：你的文本保留在这里，保存即可恢复。</translation>
  </message>
  <message>
   <source>Save</source>
   <translation>保存</translation>
  </message>
  <message>
   <source>%1 was changed by another program, and you have unsaved text.</source>
   <translation>%1 被其他程序修改，而你有未保存的文本。</translation>
  </message>
  <message>
   <source>Load the file</source>
   <translation>载入文件</translation>
  </message>
  <message>
   <source>Keep my text</source>
   <translation>保留我的文本</translation>
  </message>
  <message>
   <source>all targets</source>
   <translation>所有目标</translation>
  </message>
  <message>
   <source>from code</source>
   <translation>来自代码</translation>
  </message>
  <message>
   <source>with %1 toggle</source>
   <translation>含 %1 个切换</translation>
  </message>
  <message>
   <source>with %1 toggles</source>
   <translation>含 %1 个切换</translation>
  </message>
  <message>
   <source>with toggles</source>
   <translation>含切换</translation>
  </message>
  <message>
   <source>Compare with what the code alone says</source>
   <translation>与仅由代码决定的策略比较</translation>
  </message>
  <message>
   <source>Set a toggle in the policy tree to have a second set</source>
   <translation>在策略树中设置切换后即有第二个策略集</translation>
  </message>
  <message>
   <source>no graphs</source>
   <translation>没有图</translation>
  </message>
  <message>
   <source>no breaks</source>
   <translation>没有断点</translation>
  </message>
  <message>
   <source> graph</source>
   <translation> 个图</translation>
  </message>
  <message>
   <source> graphs</source>
   <translation> 个图</translation>
  </message>
  <message>
   <source> break</source>
   <translation> 个断点</translation>
  </message>
  <message>
   <source> breaks</source>
   <translation> 个断点</translation>
  </message>
  <message>
   <source> %1 allowed</source>
   <translation> %1 允许</translation>
  </message>
  <message>
   <source> %1 error</source>
   <translation> %1 错误</translation>
  </message>
  <message>
   <source>graphs %1, breaks %2</source>
   <translation>图 %1，断点 %2</translation>
  </message>
  <message>
   <source>, errors %1</source>
   <translation>，错误 %1</translation>
  </message>
  <message>
   <source>%1 (before: %2) · </source>
   <translation>%1（之前：%2） · </translation>
  </message>
  <message>
   <source>not measured</source>
   <translation>未测量</translation>
  </message>
  <message>
   <source>no engine</source>
   <translation>没有引擎</translation>
  </message>
  <message>
   <source>engine starting…</source>
   <translation>引擎启动中…</translation>
  </message>
  <message>
   <source>engine ready</source>
   <translation>引擎就绪</translation>
  </message>
  <message>
   <source>engine running…</source>
   <translation>引擎运行中…</translation>
  </message>
  <message>
   <source>engine ended</source>
   <translation>引擎已结束</translation>
  </message>
  <message>
   <source>Details</source>
   <translation>详情</translation>
  </message>
  <message>
   <source>Still running after %1 s.</source>
   <translation>已运行 %1 秒。</translation>
  </message>
  <message>
   <source>Still running after %1 s: %2.</source>
   <translation>已运行 %1 秒：%2。</translation>
  </message>
  <message>
   <source>close the window</source>
   <translation>关闭窗口</translation>
  </message>
  <message>
   <source>Breakline Studio[*]</source>
   <translation>Breakline Studio[*]</translation>
  </message>
  <message>
   <source>%1[*] – Breakline Studio</source>
   <translation>%1[*] – Breakline Studio</translation>
  </message>
  <message>
   <source>Python (*.py);;All files (*)</source>
   <translation>Python (*.py);;所有文件 (*)</translation>
  </message>
  <message>
   <source>python %1</source>
   <translation>Python %1</translation>
  </message>
  <message>
   <source>torch %1</source>
   <translation>PyTorch %1</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::OutputPanel</name>
  <message>
   <source>No output</source>
   <translation>没有输出</translation>
  </message>
  <message>
   <source>What your code prints is shown here, each run and recompile labelled.</source>
   <translation>你的代码打印的内容显示在这里，每次运行和重新编译都有标记。</translation>
  </message>
  <message>
   <source>Clear output</source>
   <translation>清除输出</translation>
  </message>
  <message>
   <source>recompile</source>
   <translation>重新编译</translation>
  </message>
  <message>
   <source>run</source>
   <translation>运行</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::OverlayDialog</name>
  <message>
   <source>Add overlay</source>
   <translation>添加覆盖</translation>
  </message>
  <message>
   <source>Function</source>
   <translation>函数</translation>
  </message>
  <message>
   <source>Lines</source>
   <translation>行</translation>
  </message>
  <message>
   <source>Module path</source>
   <translation>模块路径</translation>
  </message>
  <message>
   <source>Set on</source>
   <translation>设置于</translation>
  </message>
  <message>
   <source>Breaks there</source>
   <translation>其中的断点</translation>
  </message>
  <message>
   <source>Key</source>
   <translation>键</translation>
  </message>
  <message>
   <source>Add</source>
   <translation>添加</translation>
  </message>
  <message>
   <source>Target</source>
   <translation>目标</translation>
  </message>
  <message>
   <source>File</source>
   <translation>文件</translation>
  </message>
  <message>
   <source>Path</source>
   <translation>路径</translation>
  </message>
  <message>
   <source>Qualified name</source>
   <translation>限定名</translation>
  </message>
  <message>
   <source>not complete yet</source>
   <translation>尚不完整</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::PolicyPanel</name>
  <message>
   <source>No policy regions yet</source>
   <translation>还没有策略区域</translation>
  </message>
  <message>
   <source>Regions of the code are listed here. Overlays rule breaks without touching your file.</source>
   <translation>代码中的区域列在这里。覆盖可以控制断点而不改动你的文件。</translation>
  </message>
  <message>
   <source>Add overlay…</source>
   <translation>添加覆盖…</translation>
  </message>
  <message>
   <source>Policies</source>
   <translation>策略</translation>
  </message>
  <message>
   <source>Strict preview</source>
   <translation>严格预览</translation>
  </message>
  <message>
   <source>Mark every break that a strict policy would reject (%1)</source>
   <translation>标出严格策略会拒绝的每个断点（%1）</translation>
  </message>
  <message>
   <source>Selected region: inherit</source>
   <translation>所选区域：继承</translation>
  </message>
  <message>
   <source>Selected region: allow</source>
   <translation>所选区域：允许</translation>
  </message>
  <message>
   <source>Selected region: error</source>
   <translation>所选区域：错误</translation>
  </message>
  <message>
   <source>Remove selected overlay</source>
   <translation>移除所选覆盖</translation>
  </message>
  <message>
   <source>Add an overlay on a function, lines or a module path (%1)</source>
   <translation>在函数、行或模块路径上添加覆盖（%1）</translation>
  </message>
  <message>
   <source>%1, in force: %2</source>
   <translation>%1，生效：%2</translation>
  </message>
  <message>
   <source>%1, in force: %2 (decided by %3)</source>
   <translation>%1，生效：%2（由 %3 决定）</translation>
  </message>
  <message>
   <source>in the code: %1</source>
   <translation>代码中：%1</translation>
  </message>
  <message>
   <source>lines %1–%2</source>
   <translation>第 %1–%2 行</translation>
  </message>
  <message>
   <source>switched off: policy set is “from code”</source>
   <translation>已关闭：策略集为“来自代码”</translation>
  </message>
  <message>
   <source>modules of %1</source>
   <translation>%1 的模块</translation>
  </message>
  <message>
   <source>Remove your overlay from the selected row (Del)</source>
   <translation>移除所选行上您设置的策略 (Del)</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::ProcessLink</name>
  <message>
   <source>The interpreter %1 could not be started: choose another one with --python.</source>
   <translation>无法启动解释器 %1：请用 --python 选择另一个。</translation>
  </message>
  <message>
   <source>The engine crashed (signal %1).</source>
   <translation>引擎崩溃（信号 %1）。</translation>
  </message>
  <message>
   <source>The engine ended by itself (exit code %1).</source>
   <translation>引擎自行结束（退出码 %1）。</translation>
  </message>
  <message>
   <source>The engine wrote something that is not the protocol; is %1 a Breakline engine?</source>
   <translation>引擎输出的内容不符合协议；%1 是 Breakline 引擎吗？</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::Session</name>
  <message>
   <source>of the last run that went through</source>
   <translation>上次成功运行</translation>
  </message>
  <message>
   <source>of the last text that compiled</source>
   <translation>上次编译成功的文本</translation>
  </message>
  <message>
   <source>The code did not answer to Stop, so its engine was ended: restart it; your toggles are kept.</source>
   <translation>代码没有响应停止，因此其引擎已被结束：请重启；你的切换已保留。</translation>
  </message>
  <message>
   <source>starting the engine</source>
   <translation>正在启动引擎</translation>
  </message>
  <message>
   <source>This engine speaks protocol %1 and the window %2: install the same version of both.</source>
   <translation>此引擎使用协议 %1，而窗口使用 %2：请安装相同版本。</translation>
  </message>
  <message>
   <source>remove %1</source>
   <translation>移除 %1</translation>
  </message>
  <message>
   <source>The engine's report has schema %1, which this window cannot read: install the same version of both.</source>
   <translation>引擎的报告模式为 %1，此窗口无法读取：请安装相同版本。</translation>
  </message>
  <message>
   <source>Stopped: press Recompile to run it again.</source>
   <translation>已停止：按“重新编译”再次运行。</translation>
  </message>
  <message>
   <source>The engine could not start: %1</source>
   <translation>引擎无法启动：%1</translation>
  </message>
  <message>
   <source>Restart it to go on; your toggles and your text are kept.</source>
   <translation>重启后可继续；你的切换和文本都已保留。</translation>
  </message>
  <message>
   <source>remove all toggles</source>
   <translation>移除所有切换</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::SourcePanel</name>
  <message>
   <source>No file is open</source>
   <translation>没有打开文件</translation>
  </message>
  <message>
   <source>Open a PyTorch script, or drop one here. It is run and compiled at once.</source>
   <translation>打开一个 PyTorch 脚本，或拖放到这里。它会立即运行并编译。</translation>
  </message>
  <message>
   <source>Open…</source>
   <translation>打开…</translation>
  </message>
  <message>
   <source>Next break</source>
   <translation>下一个断点</translation>
  </message>
  <message>
   <source>Previous break</source>
   <translation>上一个断点</translation>
  </message>
  <message>
   <source>Error on breaks in this function</source>
   <translation>此函数中的断点视为错误</translation>
  </message>
  <message>
   <source>Allow breaks in this function</source>
   <translation>允许此函数中的断点</translation>
  </message>
  <message>
   <source>Inherit policy in this function</source>
   <translation>此函数继承策略</translation>
  </message>
  <message>
   <source>%1 (read-only)</source>
   <translation>%1（只读）</translation>
  </message>
  <message>
   <source>error: %1</source>
   <translation>错误：%1</translation>
  </message>
  <message>
   <source>%1 op</source>
   <translation>%1 个运算</translation>
  </message>
  <message>
   <source>%1 ops</source>
   <translation>%1 个运算</translation>
  </message>
  <message>
   <source>Breaks in %1</source>
   <translation>%1 中的断点</translation>
  </message>
  <message>
   <source>Breaks in line %1</source>
   <translation>第 %1 行的断点</translation>
  </message>
  <message>
   <source>Breaks in lines %1–%2</source>
   <translation>第 %1–%2 行的断点</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::TimingsPanel</name>
  <message>
   <source>Not measured yet</source>
   <translation>尚未测量</translation>
  </message>
  <message>
   <source>Measure runs every arm in interleaved rounds on the same inputs.</source>
   <translation>测量会在相同输入上交错运行每种方式。</translation>
  </message>
  <message>
   <source>Measure</source>
   <translation>测量</translation>
  </message>
  <message>
   <source>Timings</source>
   <translation>计时</translation>
  </message>
  <message>
   <source>Arm</source>
   <translation>方式</translation>
  </message>
  <message>
   <source>Median</source>
   <translation>中位数</translation>
  </message>
  <message>
   <source>Ratio</source>
   <translation>倍率</translation>
  </message>
  <message>
   <source>Verdict</source>
   <translation>结论</translation>
  </message>
  <message>
   <source>Same</source>
   <translation>一致</translation>
  </message>
  <message>
   <source>Measure all arms of the target (%1)</source>
   <translation>测量目标的所有方式（%1）</translation>
  </message>
  <message>
   <source>Measure under no_grad</source>
   <translation>在 no_grad 下测量</translation>
  </message>
  <message>
   <source>Recompile under no_grad, so that compiled plans can be used, and measure</source>
   <translation>在 no_grad 下重新编译以便使用编译方案，然后测量</translation>
  </message>
  <message>
   <source>Measure after each recompile</source>
   <translation>每次重新编译后测量</translation>
  </message>
  <message>
   <source>Measuring…</source>
   <translation>测量中…</translation>
  </message>
  <message>
   <source>Nothing to measure</source>
   <translation>没有可测量的内容</translation>
  </message>
  <message>
   <source>Timings of a compiled target are plotted here.</source>
   <translation>编译目标的计时会绘制在这里。</translation>
  </message>
  <message>
   <source>The replay plan is in use: %1. Measure under no_grad to compare compiled plans.</source>
   <translation>正在使用 replay 方案：%1。请在 no_grad 下测量以比较编译方案。</translation>
  </message>
  <message>
   <source>within</source>
   <translation>误差内</translation>
  </message>
  <message>
   <source>yes</source>
   <translation>是</translation>
  </message>
  <message>
   <source>no</source>
   <translation>否</translation>
  </message>
  <message>
   <source>%1: median %2, quartiles %3 to %4, %5 samples</source>
   <translation>%1：中位数 %2，四分位数 %3 至 %4，%5 个样本</translation>
  </message>
  <message>
   <source>eager ÷ this arm: %1 (interval %2 to %3)</source>
   <translation>即时模式 ÷ 此方式：%1（区间 %2 至 %3）</translation>
  </message>
  <message>
   <source>compiled in %1 ms</source>
   <translation>编译用时 %1 毫秒</translation>
  </message>
  <message>
   <source>largest difference to eager: %1 absolute, %2 relative</source>
   <translation>与即时模式的最大差异：绝对 %1，相对 %2</translation>
  </message>
  <message>
   <source>not available</source>
   <translation>不可用</translation>
  </message>
  <message>
   <source>measuring again…</source>
   <translation>正在重新测量…</translation>
  </message>
  <message>
   <source>of an earlier compile</source>
   <translation>来自较早的编译</translation>
  </message>
  <message>
   <source>%1 round</source>
   <translation>%1 轮</translation>
  </message>
  <message>
   <source>%1 rounds</source>
   <translation>%1 轮</translation>
  </message>
  <message>
   <source>noise %1 to %2</source>
   <translation>噪声 %1 至 %2</translation>
  </message>
  <message>
   <source>%1 thread</source>
   <translation>%1 线程</translation>
  </message>
  <message>
   <source>%1 threads</source>
   <translation>%1 线程</translation>
  </message>
  <message>
   <source>compiling pays after %1 calls</source>
   <translation>调用 %1 次后编译划算</translation>
  </message>
  <message>
   <source>no_grad</source>
   <translation>no_grad</translation>
  </message>
 </context>
 <context>
  <name>Profile</name>
  <message>
   <source>%1 each time</source>
   <translation>每次 %1</translation>
  </message>
  <message>
   <source>: %1 to leave the graph, %2 to enter the next one</source>
   <translation>：离开图 %1，进入下一个图 %2</translation>
  </message>
  <message>
   <source>; the instruction itself takes %1</source>
   <translation>；指令本身耗时 %1</translation>
  </message>
 </context>
 <context>
  <name>Timings</name>
  <message>
   <source>Eager</source>
   <translation>即时模式</translation>
  </message>
  <message>
   <source>Eager, again</source>
   <translation>即时模式（再次，测噪声）</translation>
  </message>
  <message>
   <source>Compiled, CPU</source>
   <translation>编译 CPU</translation>
  </message>
  <message>
   <source>Eager, Vulkan</source>
   <translation>即时 Vulkan</translation>
  </message>
  <message>
   <source>Compiled, Vulkan</source>
   <translation>编译 Vulkan</translation>
  </message>
  <message>
   <source>faster</source>
   <translation>更快</translation>
  </message>
  <message>
   <source>slower</source>
   <translation>更慢</translation>
  </message>
  <message>
   <source>cannot tell</source>
   <translation>无法判断</translation>
  </message>
 </context>
 <context>
  <name>Phase</name>
  <message>
   <source>importing PyTorch</source>
   <translation>正在导入 PyTorch</translation>
  </message>
  <message>
   <source>running the code</source>
   <translation>正在运行代码</translation>
  </message>
  <message>
   <source>tracing</source>
   <translation>正在追踪</translation>
  </message>
  <message>
   <source>compiling</source>
   <translation>正在编译</translation>
  </message>
  <message>
   <source>measuring</source>
   <translation>正在测量</translation>
  </message>
 </context>
 <context>
  <name>Problem</name>
  <message>
   <source>syntax error</source>
   <translation>语法错误</translation>
  </message>
  <message>
   <source>missing module</source>
   <translation>缺少模块</translation>
  </message>
  <message>
   <source>missing target</source>
   <translation>找不到目标</translation>
  </message>
  <message>
   <source>wrong input</source>
   <translation>输入有误</translation>
  </message>
  <message>
   <source>nothing was compiled</source>
   <translation>没有编译任何内容</translation>
  </message>
  <message>
   <source>the interpreter has no PyTorch</source>
   <translation>该解释器没有 PyTorch</translation>
  </message>
  <message>
   <source>the interpreter does not fit</source>
   <translation>该解释器不适用</translation>
  </message>
  <message>
   <source>the file cannot be read</source>
   <translation>无法读取文件</translation>
  </message>
  <message>
   <source>not UTF-8</source>
   <translation>文件不是 UTF-8 编码</translation>
  </message>
  <message>
   <source>the code raised</source>
   <translation>代码抛出异常</translation>
  </message>
 </context>
 <context>
  <name>breakline::ui::Panel</name>
  <message>
   <source>Loading…</source>
   <translation>正在载入…</translation>
  </message>
  <message>
   <source>%1 is run and compiled; the result comes here.</source>
   <translation>正在运行并编译 %1；结果会显示在这里。</translation>
  </message>
  <message>
   <source>Stopped</source>
   <translation>已停止</translation>
  </message>
  <message>
   <source>Recompile (F5) runs it again.</source>
   <translation>按“重新编译”（F5）再次运行。</translation>
  </message>
  <message>
   <source>Not compiled</source>
   <translation>未编译</translation>
  </message>
  <message>
   <source>It failed: see the Error tab. Mend it and save, or press Recompile (F5).</source>
   <translation>失败了：请看“错误”标签页。修正并保存，或按“重新编译”（F5）。</translation>
  </message>
 </context>
 <context>
  <name>Report</name>
  <message>
   <source>%1 (%2) was left whole to Python: %3</source>
   <translation>%1（%2）整体交给了 Python：%3</translation>
  </message>
 </context>
</TS>
