#!/bin/bash
#SBATCH -n 4
echo '#!/bin/bash' > one.sh
echo 'ulimit -s unlimited' >> one.sh
echo './scan.x --range 1:40' >> one.sh
chmod +x one.sh
srun ./one.sh
