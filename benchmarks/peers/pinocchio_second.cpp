// Second derivatives of inverse dynamics by Pinocchio, which has them in C++ alone: a library for ctypes.
//
// `with_pinocchio.py` compiles it where there are a C++ compiler, Pinocchio's headers and Eigen.

#include <unsupported/Eigen/CXX11/Tensor>

#include <pinocchio/algorithm/rnea-second-order-derivatives.hpp>
#include <pinocchio/multibody.hpp>

using namespace pinocchio;
using Cube = Eigen::Tensor<double, 3>;
using Vectors = Eigen::Map<const Eigen::VectorXd>;

struct Arm {
    Model model;
    Data data;
};

extern "C" {

// Bodies in order: parent (−1: the base), R (row by row), p, axis, mass, com, tensor about it, armature: 30 numbers.
void *arm(int n, const double *bodies, const double *gravity)
{
    Arm *made = new Arm;
    Model &model = made->model;
    for (int i = 0; i < n; ++i) {
        const double *x = bodies + 30 * i;
        using Matrix = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
        const SE3 place(Eigen::Map<const Matrix>(x + 1), Eigen::Map<const Eigen::Vector3d>(x + 10));
        const Eigen::Vector3d axis = Eigen::Map<const Eigen::Vector3d>(x + 13);
        const JointIndex parent = JointIndex(x[0] + 1);
        JointIndex joint;
        if (axis == Eigen::Vector3d::UnitX())
            joint = model.addJoint(parent, JointModelRX(), place, "joint " + std::to_string(i));
        else if (axis == Eigen::Vector3d::UnitY())
            joint = model.addJoint(parent, JointModelRY(), place, "joint " + std::to_string(i));
        else if (axis == Eigen::Vector3d::UnitZ())
            joint = model.addJoint(parent, JointModelRZ(), place, "joint " + std::to_string(i));
        else
            joint = model.addJoint(parent, JointModelRevoluteUnaligned(axis), place, "joint " + std::to_string(i));
        const Eigen::Vector3d com = Eigen::Map<const Eigen::Vector3d>(x + 17);
        const Eigen::Matrix3d tensor = Eigen::Map<const Matrix>(x + 20);
        model.appendBodyToJoint(joint, Inertia(x[16], com, tensor), SE3::Identity());
    }
    model.gravity.linear() = Eigen::Map<const Eigen::Vector3d>(gravity);
    made->data = Data(model);
    return made;
}

// Tensors n³ of one row after the other, columns first; the same place for all rows if `step` is 0.
void second_derivatives(void *of, long rows, const double *q, const double *v, const double *a,
                        double *qq, double *vv, double *qv, double *aq, long step)
{
    Arm &made = *static_cast<Arm *>(of);
    const int n = made.model.nv;
    Cube by_qq(n, n, n), by_vv(n, n, n), by_qv(n, n, n), by_aq(n, n, n);
    const long size = long(n) * n * n;
    for (long k = 0; k < rows; ++k) {
        by_qq.setZero(), by_vv.setZero(), by_qv.setZero(), by_aq.setZero();
        ComputeRNEASecondOrderDerivatives(made.model, made.data, Vectors(q + k * n, n), Vectors(v + k * n, n),
                                          Vectors(a + k * n, n), by_qq, by_vv, by_qv, by_aq);
        std::copy(by_qq.data(), by_qq.data() + size, qq + k * step);
        std::copy(by_vv.data(), by_vv.data() + size, vv + k * step);
        std::copy(by_qv.data(), by_qv.data() + size, qv + k * step);
        std::copy(by_aq.data(), by_aq.data() + size, aq + k * step);
    }
}
}
