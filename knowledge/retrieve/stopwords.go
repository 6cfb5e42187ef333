package retrieve

import "github.com/runplan/runplan/internal/wordset"

// stopWords are words without significance for a task.
var stopWords = wordset.New(`
about above across add added adds after again all also although always among and another any anything are
around because been before being below between both bug bugs but can cannot change changed changes class
classes code could did does doing done down during each either else enough ensure error errors every
everything few file files fix fixed fixes for from function functions further get gets give given gives goes
had has have having here how however implement into its itself just keep know least less let like line lines
look made make makes making many may maybe method methods might more most much must need needed needs never
new not nothing now off once one only onto other others our out over own part per please project put rather
really repository same see set several shall she should since some something still such sure take takes task
test tests than that the their them then there these they thing things this those though through thus too two
under until upon use used uses using very want wants was way well were what when where whether which while
who whole why will with within without work works would yet you your
`)
